// The names that functions find beside the language itself, and the two functions that
// the host calls. What only a program has throws, and its name is kept even if the code
// catches the error.
(function () {
	'use strict';
	const {apply, construct, ownKeys} = Reflect;
	const {parse, stringify} = JSON;
	const {defineProperty} = Object;
	const text = String;
	const promise = Promise, then = Promise.prototype.then, resolve = Promise.resolve;
	const hidden = (object, name, value) => defineProperty(object, name, {value, writable: true, configurable: true, enumerable: false});

	let missing, said;
	const absent = (name) => {
		if (missing === undefined) missing = name;
		throw new ReferenceError(name + ' is not defined');
	};

	// The globals of Node.js 22 that are not there.
	for (const name of ['AbortController', 'AbortSignal', 'Blob', 'BroadcastChannel', 'Buffer', 'ByteLengthQueuingStrategy', 'CompressionStream',
		'CountQueuingStrategy', 'Crypto', 'CryptoKey', 'CustomEvent', 'DecompressionStream', 'Event', 'EventTarget', 'File', 'FormData',
		'Headers', 'Intl', 'MessageChannel', 'MessageEvent', 'MessagePort', 'Navigator', 'Performance', 'PerformanceEntry', 'PerformanceMark',
		'PerformanceMeasure', 'PerformanceObserver', 'PerformanceObserverEntryList', 'PerformanceResourceTiming', 'ReadableByteStreamController',
		'ReadableStream', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableStreamDefaultController', 'ReadableStreamDefaultReader',
		'Request', 'Response', 'SubtleCrypto', 'TextDecoderStream', 'TextEncoderStream', 'TransformStream', 'TransformStreamDefaultController',
		'WebAssembly', 'WebSocket', 'WritableStream', 'WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'clearImmediate',
		'clearInterval', 'clearTimeout', 'crypto', 'fetch', 'navigator', 'performance', 'process', 'setImmediate', 'setInterval', 'setTimeout',
		'__dirname', '__filename', 'import', 'require']) {
		defineProperty(globalThis, name, {
			configurable: true, enumerable: false,
			get() { return absent(name); },
			set(value) { hidden(globalThis, name, value); },
		});
	}

	// What depends on a language or a place, which the engine does not know.
	for (const [object, of, names] of [
		[Number.prototype, 'Number', ['toLocaleString']],
		[BigInt.prototype, 'BigInt', ['toLocaleString']],
		[Date.prototype, 'Date', ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']],
		[String.prototype, 'String', ['localeCompare']],
	]) {
		for (const name of names) hidden(object, name, {[name]() { return absent(of + '.' + name); }}[name]);
	}
	for (const [name, plain] of [['toLocaleLowerCase', String.prototype.toLowerCase], ['toLocaleUpperCase', String.prototype.toUpperCase]]) {
		hidden(String.prototype, name, {[name](locale) {
			if (locale !== undefined && !/^en\b/i.test(text(locale))) absent('String.' + name);
			return apply(plain, this, []);
		}}[name]);
	}

	// Random numbers are the same in each call (mulberry32).
	let state = 1;
	hidden(Math, 'random', function random() {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	});

	hidden(globalThis, 'global', globalThis);
	const silent = {};
	for (const name of ['assert', 'clear', 'count', 'countReset', 'debug', 'dir', 'dirxml', 'error', 'group', 'groupCollapsed', 'groupEnd',
		'info', 'log', 'table', 'time', 'timeEnd', 'timeLog', 'trace', 'warn']) {
		silent[name] = {[name]() {}}[name];
	}
	hidden(globalThis, 'console', silent);
	hidden(globalThis, 'queueMicrotask', function queueMicrotask(f) {
		if (typeof f !== 'function') throw new TypeError('The "callback" argument must be of type function.');
		apply(then, apply(resolve, promise, []), [() => { f(); }]);
	});

	const DOMException = class DOMException extends Error {
		constructor(message = '', name = 'Error') {
			super(message);
			hidden(this, 'name', text(name));
		}
	};
	hidden(globalThis, 'DOMException', DOMException);

	// Base64.
	const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
	hidden(globalThis, 'btoa', function btoa(value) {
		const s = text(value);
		let out = '';
		for (let i = 0; i < s.length; i += 3) {
			let n = 0;
			for (let j = 0; j < 3; j++) {
				const c = i + j < s.length ? s.charCodeAt(i + j) : 0;
				if (c > 255) throw new DOMException('Invalid character', 'InvalidCharacterError');
				n = n << 8 | c;
			}
			for (let j = 0; j < 4; j++) out += i + j > s.length ? '=' : digits[n >> (18 - 6 * j) & 63];
		}
		return out;
	});
	hidden(globalThis, 'atob', function atob(value) {
		let s = text(value).replace(/[\t\n\f\r ]/g, '');
		if (s.length % 4 === 0) s = s.replace(/==?$/, '');
		if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
		let out = '', n = 0, bits = 0;
		for (const c of s) {
			n = (n << 6 | digits.indexOf(c)) & 0xffffff;
			if ((bits += 6) >= 8) out += String.fromCharCode(n >> (bits -= 8) & 255);
		}
		return out;
	});

	// UTF-8.
	const encode = (s) => {
		const bytes = [];
		for (const c of s) {
			let n = c.codePointAt(0);
			if (n >= 0xd800 && n <= 0xdfff) n = 0xfffd;
			if (n < 0x80) bytes.push(n);
			else if (n < 0x800) bytes.push(0xc0 | n >> 6, 0x80 | n & 63);
			else if (n < 0x10000) bytes.push(0xe0 | n >> 12, 0x80 | n >> 6 & 63, 0x80 | n & 63);
			else bytes.push(0xf0 | n >> 18, 0x80 | n >> 12 & 63, 0x80 | n >> 6 & 63, 0x80 | n & 63);
		}
		return bytes;
	};
	// decode reads bytes as the Encoding Standard does: a wrong sequence becomes U+FFFD.
	const decode = (bytes, fatal) => {
		let out = '', n = 0, needed = 0, low = 0x80, high = 0xbf;
		const wrong = () => {
			if (fatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
			out += '\ufffd';
			needed = 0, low = 0x80, high = 0xbf;
		};
		for (let i = 0; i < bytes.length; i++) {
			const b = bytes[i];
			if (needed > 0) {
				if (b < low || b > high) {
					wrong();
					i--;
					continue;
				}
				low = 0x80, high = 0xbf, n = n << 6 | b & 63;
				if (--needed === 0) out += String.fromCodePoint(n);
				continue;
			}
			if (b < 0x80) out += String.fromCharCode(b);
			else if (b >= 0xc2 && b <= 0xdf) needed = 1, n = b & 31;
			else if (b >= 0xe0 && b <= 0xef) needed = 2, n = b & 15, low = b === 0xe0 ? 0xa0 : 0x80, high = b === 0xed ? 0x9f : 0xbf;
			else if (b >= 0xf0 && b <= 0xf4) needed = 3, n = b & 7, low = b === 0xf0 ? 0x90 : 0x80, high = b === 0xf4 ? 0x8f : 0xbf;
			else wrong();
		}
		if (needed > 0) wrong();
		return out;
	};
	const bytesOf = (data) => {
		if (data === undefined) return new Uint8Array();
		if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
		if (data instanceof ArrayBuffer || data instanceof SharedArrayBuffer) return new Uint8Array(data);
		throw new TypeError('The "list" argument must be an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView.');
	};
	hidden(globalThis, 'TextEncoder', class TextEncoder {
		get encoding() { return 'utf-8'; }
		encode(s = '') { return new Uint8Array(encode(text(s))); }
		encodeInto() { return absent('TextEncoder.encodeInto'); }
	});
	hidden(globalThis, 'TextDecoder', class TextDecoder {
		#fatal;
		#keepsMark;
		constructor(label = 'utf-8', options = {}) {
			if (!/^\s*(unicode-1-1-utf-8|unicode11utf8|unicode20utf8|utf-?8|x-unicode20utf8)\s*$/i.test(text(label))) absent('TextDecoder(' + stringify(text(label)) + ')');
			this.#fatal = Boolean(options?.fatal);
			this.#keepsMark = Boolean(options?.ignoreBOM);
		}
		get encoding() { return 'utf-8'; }
		get fatal() { return this.#fatal; }
		get ignoreBOM() { return this.#keepsMark; }
		decode(data, options) {
			if (options?.stream) absent('TextDecoder with stream');
			const out = decode(bytesOf(data), this.#fatal);
			return !this.#keepsMark && out[0] === '\ufeff' ? out.slice(1) : out;
		}
	});

	// structuredClone copies values without functions.
	const refuseClone = (value) => {
		throw new DOMException((typeof value === 'symbol' ? text(value) : typeof value === 'function' ? Function.prototype.toString.call(value) : '#<Object>') + ' could not be cloned.', 'DataCloneError');
	};
	const classOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
	const copyOf = (value, known) => {
		if (typeof value === 'symbol' || typeof value === 'function') refuseClone(value);
		if (typeof value !== 'object' || value === null) return value;
		if (known.has(value)) return known.get(value);
		const keep = (made) => (known.set(value, made), made);
		const fill = (made) => {
			for (const key of Object.keys(value)) made[key] = copyOf(value[key], known);
			return made;
		};
		if (Array.isArray(value)) return fill(keep(new Array(value.length)));
		if (value instanceof Date) return keep(new Date(value.getTime()));
		if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
		if (value instanceof Map) {
			const made = keep(new Map());
			for (const [k, v] of [...value]) made.set(copyOf(k, known), copyOf(v, known));
			return made;
		}
		if (value instanceof Set) {
			const made = keep(new Set());
			for (const v of [...value]) made.add(copyOf(v, known));
			return made;
		}
		if (value instanceof ArrayBuffer) return keep(value.slice(0));
		if (ArrayBuffer.isView(value)) {
			const buffer = copyOf(value.buffer, known);
			return keep(new value.constructor(buffer, value.byteOffset, value.length ?? value.byteLength));
		}
		if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) return keep(Object(value.valueOf()));
		if (value instanceof Error) return copyOfError(value, keep, known);
		if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise || classOf(value) === 'Generator') refuseClone(value);
		return fill(keep({}));
	};
	const errors = {EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError};
	const copyOfError = (value, keep, known) => {
		const made = keep(new (errors[value.name] ?? Error)(value.message));
		if (typeof value.stack === 'string') hidden(made, 'stack', value.stack);
		if ('cause' in value) hidden(made, 'cause', copyOf(value.cause, known));
		return made;
	};
	hidden(globalThis, 'structuredClone', function structuredClone(value, options) {
		if (options?.transfer?.length) absent('structuredClone with transfer');
		return copyOf(value, new Map());
	});

	// Addresses, as the URL Standard reads them. A host that is not ASCII has no form
	// without tables that are not there.
	const ports = {'ftp:': '21', 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'file:': ''};
	const percent = (s, keep) => {
		let out = '';
		for (const c of s) {
			if (c > ' ' && c < '\x7f' && keep(c)) out += c;
			else for (const b of encode(c)) out += '%' + (b < 16 ? '0' : '') + b.toString(16).toUpperCase();
		}
		return out;
	};
	const except = (characters) => (c) => !characters.includes(c);
	const inFragment = except('"<>`'), inQuery = except('"#<>'), inSpecialQuery = except('"#<>\'');
	const inPath = except('"#<>?^`{}'), inUser = except('"#<>?^`{}/:;=@[\\]|');
	const unpercent = (s) => {
		const bytes = [], given = encode(s);
		for (let i = 0; i < given.length; i++) {
			const hex = given[i] === 0x25 ? String.fromCharCode(...given.slice(i + 1, i + 3)) : '';
			if (/^[0-9a-f]{2}$/i.test(hex)) bytes.push(parseInt(hex, 16)), i += 2;
			else bytes.push(given[i]);
		}
		return decode(bytes, false);
	};
	const numberOf = (s) => {
		if (/^0x[0-9a-f]*$/i.test(s)) return s.length === 2 ? 0 : parseInt(s.slice(2), 16);
		if (/^0[0-7]+$/.test(s)) return parseInt(s, 8);
		return /^[0-9]+$/.test(s) ? parseInt(s, 10) : NaN;
	};
	const invalid = (given) => {
		const e = new TypeError('Invalid URL');
		e.code = 'ERR_INVALID_URL';
		e.input = given;
		throw e;
	};
	const hostOf = (written, special, given) => {
		if (written[0] === '[') {
			if (!/^\[[0-9a-f:.]+\]$/i.test(written)) invalid(given);
			return absent('URL with an IPv6 address');
		}
		if (!special) {
			if (/[\0\t\n\r #/:<>?@[\\\]^|]/.test(written)) invalid(given);
			return percent(written, () => true);
		}
		const host = unpercent(written).toLowerCase();
		if (/[^\0-\x7f]/.test(host) || /(^|\.)xn--/.test(host)) absent('URL with a host that is not ASCII');
		if (host === '' || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(host)) invalid(given);
		const parts = host.split('.');
		if (parts.length > 1 && parts.at(-1) === '') parts.pop();
		if (!/^([0-9]+|0x[0-9a-f]*)$/.test(parts.at(-1))) return host;
		const numbers = parts.map(numberOf);
		const last = numbers.pop();
		if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length))) invalid(given);
		const address = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
		return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');
	};
	const pathOf = (written, special, file, before) => {
		const segments = [...before];
		const steps = (special ? written.replace(/\\/g, '/') : written).split('/');
		steps.forEach((step, i) => {
			const isLast = i === steps.length - 1, plain = step.replace(/%2e/gi, '.');
			if (plain === '..') {
				if (!(file && segments.length === 1 && /^[a-z]:$/i.test(segments[0]))) segments.pop();
				if (isLast) segments.push('');
			} else if (plain === '.') {
				if (isLast) segments.push('');
			} else {
				segments.push(file && segments.length === 0 && /^[a-z][:|]$/i.test(step) ? step[0] + ':' : percent(step, inPath));
			}
		});
		return segments;
	};
	const authorityOf = (u, written, given) => {
		const at = written.lastIndexOf('@');
		if (at >= 0) {
			const [, user, , password] = /^([^:]*)(:([^]*))?$/.exec(written.slice(0, at));
			u.username = percent(user, inUser);
			u.password = percent(password ?? '', inUser);
		}
		const [, host, , port] = /^(\[[^\]]*\]|[^:]*)(:([^]*))?$/.exec(written.slice(at + 1)) ?? invalid(given);
		if (host === '' && (u.special || at >= 0 || port !== undefined)) invalid(given);
		u.host = host === '' ? '' : hostOf(host, u.special, given);
		if (port && (!/^[0-9]+$/.test(port) || Number(port) > 65535)) invalid(given);
		u.port = port ? text(Number(port)) : '';
		if (u.port === ports[u.protocol]) u.port = '';
	};
	// partsOf reads an address, relative to another one if there is one.
	const partsOf = (given, base) => {
		let rest = given.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
		const u = {protocol: '', special: false, username: '', password: '', host: null, port: '', path: [], opaque: null, search: null, hash: null};
		const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(rest);
		const take = (sign) => {
			const i = rest.indexOf(sign);
			if (i < 0) return null;
			const out = rest.slice(i + 1);
			rest = rest.slice(0, i);
			return out;
		};
		const fragment = take('#');
		if (fragment !== null) u.hash = percent(fragment, inFragment);
		const query = take('?');
		if (scheme) {
			u.protocol = scheme[0].toLowerCase();
			rest = rest.slice(scheme[0].length);
		} else if (!base || base.opaque !== null && (rest !== '' || query !== null || fragment === null)) {
			invalid(given);
		} else {
			u.protocol = base.protocol;
		}
		u.special = u.protocol in ports;
		if (query !== null) u.search = percent(query, u.special ? inSpecialQuery : inQuery);
		const slashes = u.special ? /^[/\\]*/.exec(rest)[0] : /^\/*/.exec(rest)[0];
		const isRelative = base && base.protocol === u.protocol && (!scheme || u.special && slashes.length === 0);
		if (u.protocol === 'file:') return fileOf(u, rest, slashes, isRelative ? base : undefined, given);
		if (isRelative && slashes.length < 2) return relativeOf(u, rest, slashes, base);
		if (u.special || slashes.length >= 2) {
			rest = rest.slice(u.special ? slashes.length : 2);
			const [authority] = u.special ? /^[^/\\]*/.exec(rest) : /^[^/]*/.exec(rest);
			authorityOf(u, authority, given);
			rest = rest.slice(authority.length);
			u.path = rest === '' && !u.special ? [] : pathOf(rest.slice(1), u.special, false, []);
		} else if (slashes.length === 1) {
			u.path = pathOf(rest.slice(1), false, false, []);
		} else {
			u.opaque = [...rest].map((c) => c === ' ' ? c : percent(c, () => true)).join('');
		}
		return u;
	};
	const relativeOf = (u, rest, slashes, base) => {
		Object.assign(u, {username: base.username, password: base.password, host: base.host, port: base.port, opaque: base.opaque});
		if (rest === '') {
			u.path = base.path;
			u.search ??= base.search;
		} else {
			u.path = slashes.length ? pathOf(rest.slice(1), u.special, false, []) : pathOf(rest, u.special, false, base.path.slice(0, -1));
		}
		return u;
	};
	const fileOf = (u, rest, slashes, base, given) => {
		u.host = '';
		if (slashes.length < 2 && base) {
			u.host = base.host;
			if (rest === '') {
				u.path = base.path;
				u.search ??= base.search;
			} else {
				u.path = slashes.length ? pathOf(rest.slice(1), true, true, []) : pathOf(rest, true, true, base.path.slice(0, -1));
			}
			return u;
		}
		rest = rest.slice(Math.min(2, slashes.length));
		if (slashes.length >= 2 && !/^[a-z][:|]([/\\]|$)/i.test(rest)) {
			const [host] = /^[^/\\]*/.exec(rest);
			if (host !== '') u.host = hostOf(host, true, given);
			if (u.host === 'localhost') u.host = '';
			rest = rest.slice(host.length);
		}
		u.path = pathOf(rest.replace(/^[/\\]/, ''), true, true, []);
		return u;
	};
	const pathText = (u) => u.opaque ?? u.path.map((s) => '/' + s).join('');
	const hostText = (u) => (u.host ?? '') + (u.port === '' ? '' : ':' + u.port);
	const hrefOf = (u) => {
		let out = u.protocol;
		if (u.host !== null) {
			out += '//';
			if (u.username !== '' || u.password !== '') out += u.username + (u.password === '' ? '' : ':' + u.password) + '@';
			out += hostText(u);
		} else if (u.opaque === null && u.path.length > 1 && u.path[0] === '') {
			out += '/.';
		}
		return out + pathText(u) + (u.search === null ? '' : '?' + u.search) + (u.hash === null ? '' : '#' + u.hash);
	};

	const form = (s) => percent(s, (c) => /[A-Za-z0-9*._-]/.test(c)).replace(/%20/g, '+');
	const formText = (pairs) => pairs.map(([k, v]) => form(k) + '=' + form(v)).join('&');
	const formPairs = (s) => s.split('&').filter((p) => p !== '').map((p) => {
		const [, k, , v] = /^([^=]*)(=([^]*))?$/.exec(p.replace(/\+/g, ' '));
		return [unpercent(k), unpercent(v ?? '')];
	});
	let watch; // set while a URL makes its parameters
	const URLSearchParams = class URLSearchParams {
		#pairs = [];
		#changed = watch ?? (() => {});
		constructor(init = '') {
			if (typeof init === 'object' && init !== null && typeof init[Symbol.iterator] === 'function') {
				for (const pair of init) {
					const [k, v, ...more] = pair;
					if ([...pair].length !== 2 || more.length) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
					this.#pairs.push([text(k).toWellFormed(), text(v).toWellFormed()]);
				}
			} else if (typeof init === 'object' && init !== null) {
				for (const k of ownKeys(init)) this.#pairs.push([text(k).toWellFormed(), text(init[k]).toWellFormed()]);
			} else {
				this.#pairs = formPairs(text(init).replace(/^\?/, ''));
			}
		}
		get size() { return this.#pairs.length; }
		append(k, v) { this.#pairs.push([text(k).toWellFormed(), text(v).toWellFormed()]); this.#changed(this.toString()); }
		delete(k, v) { this.#pairs = this.#pairs.filter((p) => p[0] !== text(k) || v !== undefined && p[1] !== text(v)); this.#changed(this.toString()); }
		get(k) { return this.#pairs.find((p) => p[0] === text(k))?.[1] ?? null; }
		getAll(k) { return this.#pairs.filter((p) => p[0] === text(k)).map((p) => p[1]); }
		has(k, v) { return this.#pairs.some((p) => p[0] === text(k) && (v === undefined || p[1] === text(v))); }
		set(k, v) {
			const first = this.#pairs.find((p) => p[0] === text(k));
			if (!first) return this.append(k, v);
			first[1] = text(v).toWellFormed();
			this.#pairs = this.#pairs.filter((p) => p === first || p[0] !== first[0]);
			this.#changed(this.toString());
		}
		sort() { this.#pairs.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0); this.#changed(this.toString()); }
		forEach(f, self) { for (const [k, v] of this) apply(f, self, [v, k, this]); }
		*keys() { for (const [k] of this.#pairs) yield k; }
		*values() { for (const [, v] of this.#pairs) yield v; }
		*entries() { for (const [k, v] of this.#pairs) yield [k, v]; }
		toString() { return formText(this.#pairs); }
	};
	hidden(URLSearchParams.prototype, Symbol.iterator, URLSearchParams.prototype.entries);
	defineProperty(URLSearchParams.prototype, Symbol.toStringTag, {value: 'URLSearchParams', configurable: true});
	hidden(globalThis, 'URLSearchParams', URLSearchParams);

	const URL = class URL {
		#u;
		#params;
		constructor(given, base) { this.#u = partsOf(text(given), base === undefined ? undefined : partsOf(text(base))); }
		static canParse(given, base) {
			try {
				return Boolean(new URL(given, base));
			} catch (e) {
				return false;
			}
		}
		static parse(given, base) {
			try {
				return new URL(given, base);
			} catch (e) {
				return null;
			}
		}
		static createObjectURL() { return absent('URL.createObjectURL'); }
		get href() { return hrefOf(this.#u); }
		get protocol() { return this.#u.protocol; }
		get username() { return this.#u.username; }
		get password() { return this.#u.password; }
		get host() { return hostText(this.#u); }
		get hostname() { return this.#u.host ?? ''; }
		get port() { return this.#u.port; }
		get pathname() { return pathText(this.#u); }
		get search() { return this.#u.search ? '?' + this.#u.search : ''; }
		get hash() { return this.#u.hash ? '#' + this.#u.hash : ''; }
		get origin() { return this.#u.special && this.#u.protocol !== 'file:' ? this.#u.protocol + '//' + hostText(this.#u) : 'null'; }
		get searchParams() {
			if (!this.#params) {
				watch = (s) => { this.#u.search = s === '' ? null : s; };
				this.#params = new URLSearchParams(this.#u.search ?? '');
				watch = undefined;
			}
			return this.#params;
		}
		set href(given) { this.#u = partsOf(text(given)); this.#params = undefined; }
		set search(given) {
			const s = text(given).replace(/^\?/, '');
			this.#u.search = s === '' ? null : percent(s, this.#u.special ? inSpecialQuery : inQuery);
			this.#params = undefined;
		}
		set hash(given) {
			const s = text(given).replace(/^#/, '');
			this.#u.hash = s === '' ? null : percent(s, inFragment);
		}
		set pathname(given) {
			if (this.#u.opaque === null) this.#u.path = pathOf(text(given).replace(/^[/\\]/, ''), this.#u.special, this.#u.protocol === 'file:', []);
		}
		toString() { return this.href; }
		toJSON() { return this.href; }
	};
	for (const name of ['protocol', 'username', 'password', 'host', 'hostname', 'port']) {
		const {get} = Object.getOwnPropertyDescriptor(URL.prototype, name);
		defineProperty(URL.prototype, name, {get, set() { absent('URL with another ' + name); }, configurable: true, enumerable: true});
	}
	for (const name of ['href', 'origin', 'pathname', 'search', 'searchParams', 'hash']) defineProperty(URL.prototype, name, {enumerable: true});
	defineProperty(URL.prototype, Symbol.toStringTag, {value: 'URL', configurable: true});
	hidden(globalThis, 'URL', URL);

	// What the host calls.
	const throwing = (error) => {
		let message;
		try {
			message = text(error);
		} catch (e) {
			message = 'an error without a text';
		}
		said = 't' + stringify(message);
	};
	const valued = (value) => {
		try {
			said = 'v' + (stringify(value) ?? 'null');
		} catch (e) {
			throwing(e);
		}
	};
	return {
		// drive calls a function with arguments, a list in JSON.
		drive(f, args) {
			if (typeof f !== 'function') return throwing('the code is not a function');
			try {
				const value = apply(f, undefined, parse(args));
				const thenable = value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';
				if (!thenable) return valued(value);
				said = 'p';
				apply(then, apply(resolve, promise, [value]), [valued, throwing]);
			} catch (e) {
				throwing(e);
			}
		},
		// outcome is what came out.
		outcome() { return missing !== undefined ? 'm' + stringify(missing) : said ?? ''; },
	};
})();
