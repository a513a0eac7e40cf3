// Makes the clock and random numbers throw.
(function () {
	'use strict';
	const refuse = (what, instead) => {
		throw new TypeError('there is no ' + what + ' while definitions are compiled; ' + instead);
	};
	const clock = () => refuse('clock', 'write the date into a variable');
	const Real = Date;
	const Pure = function Date(...args) {
		if (!new.target || args.length === 0) clock();
		return Reflect.construct(Real, args, new.target === Pure ? Real : new.target);
	};
	Object.defineProperty(Pure, 'prototype', {value: Real.prototype, writable: false});
	Object.defineProperty(Pure, 'length', {value: 7});
	const hidden = (object, name, value) => Object.defineProperty(object, name, {value, writable: true, configurable: true, enumerable: false});
	hidden(Pure, 'UTC', Real.UTC);
	hidden(Pure, 'parse', Real.parse);
	hidden(Pure, 'now', clock);
	hidden(Real.prototype, 'constructor', Pure);
	hidden(globalThis, 'Date', Pure);
	hidden(Math, 'random', () => refuse('random number', 'choose one value'));
})();
