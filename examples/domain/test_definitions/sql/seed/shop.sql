CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE sales (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products (id), amount INTEGER NOT NULL, day TEXT NOT NULL);
INSERT INTO products VALUES (1, 'bell', 12.5, 40), (2, 'lamp', 27.5, 12), (3, 'lock', 45, 0), (4, 'helmet', 59.9, 7);
INSERT INTO sales VALUES (1, 1, 3, '2026-03-02'), (2, 2, 1, '2026-03-02'), (3, 4, 2, '2026-03-03');
