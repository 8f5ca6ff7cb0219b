-- Tables in memory: rows, indexes, joins, sums, text and JSON.
PRAGMA temp_store=memory;
CREATE TABLE item(id INTEGER PRIMARY KEY, kind INT, label TEXT, weight REAL);
CREATE TABLE place(id INTEGER PRIMARY KEY, item INT, shelf TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<150000)
INSERT INTO item SELECT i, i*7919%5003, 'label-'||hex(i*2654435761%4294967296), i*0.25 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<150000)
INSERT INTO place SELECT i, i*104729%150000+1, upper('s'||(i%997)) FROM n;
CREATE INDEX item_kind ON item(kind);
CREATE INDEX place_item ON place(item);
CREATE INDEX place_shelf ON place(shelf, item);
COMMIT;
SELECT count(*), sum(weight) FROM item;
SELECT kind, count(*), group_concat(substr(label,7,4)) FROM item GROUP BY kind ORDER BY 2 DESC, 1 LIMIT 2;
SELECT shelf, count(*), sum(weight) FROM place JOIN item ON item.id=item GROUP BY shelf ORDER BY 2 DESC, 1 LIMIT 2;
SELECT count(*) FROM (SELECT DISTINCT lower(label)||shelf FROM item JOIN place ON item=item.id);
UPDATE item SET label=replace(label,'label','a longer text than before')||kind WHERE id%3=0;
SELECT max(length(label)), min(length(label)) FROM item;
SELECT length(group_concat(json_object('id',id,'label',label,'weight',weight))) FROM item WHERE id%4=0;
SELECT sum(json_extract(made,'$.weight'))
FROM (SELECT json_object('id',id,'label',label,'weight',weight) AS made FROM item WHERE id%2=0);
DELETE FROM place WHERE item%5=0;
SELECT shelf, count(*) FROM place WHERE shelf LIKE 'S1%' GROUP BY shelf ORDER BY 2 DESC, 1 LIMIT 2;
SELECT count(*) FROM item WHERE label LIKE '%9A%';
