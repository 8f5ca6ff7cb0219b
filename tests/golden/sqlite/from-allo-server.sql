PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta(
	key text primary key,
	value text not null
) without rowid;
INSERT INTO meta VALUES('allo version','');
INSERT INTO meta VALUES('format','allo');
INSERT INTO meta VALUES('period','1');
INSERT INTO meta VALUES('period unit','bytes');
INSERT INTO meta VALUES('producer','Allotrope');
INSERT INTO meta VALUES('wrappers','auto');
CREATE TABLE process(
	id integer primary key,
	pid integer not null,
	parent_pid integer not null,
	command text not null,
	program text not null,
	folder text not null,
	host text not null,
	ended text not null,
	clock text not null,
	start_ns integer not null,
	duration integer not null,
	peak integer not null
);
INSERT INTO process VALUES(1,4711,4700,'server --port 80','/usr/bin/server','/srv','box','exit','ns',1700000000000000000,999000,40000);
CREATE TABLE module(
	id integer primary key,
	path text not null,
	build_id text not null
);
INSERT INTO module VALUES(0,'','');
INSERT INTO module VALUES(5530247974425067628,'/usr/bin/server','deadbeef');
CREATE TABLE function(
	id integer primary key,
	name text not null,
	system_name text not null,
	file text not null,
	line integer not null,
	is_allocator integer not null
);
INSERT INTO function VALUES(0,'???','','',0,0);
INSERT INTO function VALUES(2201181188381688787,'0x1000 [plugin.so]','','',0,0);
INSERT INTO function VALUES(3379459277912801276,'0x1015 [server]','','',0,0);
INSERT INTO function VALUES(4290591147632628909,'0x122f [server]','','',0,0);
INSERT INTO function VALUES(4821863465346139507,'0x144f [server]','','',0,0);
CREATE TABLE frame(
	id integer primary key,
	module integer not null,
	address integer not null,
	function integer not null,
	line integer not null,
	col integer not null,
	is_inlined integer not null
);
INSERT INTO frame VALUES(0,0,0,0,0,0,0);
INSERT INTO frame VALUES(6584854550095155175,5530247974425067628,4117,3379459277912801276,0,0,0);
INSERT INTO frame VALUES(8306902155329343098,5530247974425067628,4655,4290591147632628909,0,0,0);
INSERT INTO frame VALUES(8709414851063322267,5530247974425067628,5199,4821863465346139507,0,0,0);
INSERT INTO frame VALUES(8946207789441190137,5530247974425067628,4096,2201181188381688787,0,0,0);
CREATE TABLE stack(
	id integer primary key,
	parent integer,
	frame integer not null,
	site integer not null,
	leaf integer not null,
	depth integer not null,
	number integer not null,
	is_sampled integer not null
);
INSERT INTO stack VALUES(0,NULL,0,0,0,0,0,0);
INSERT INTO stack VALUES(2751048029325865940,7127966290687644883,8306902155329343098,2751048029325865940,2751048029325865940,2,2,1);
INSERT INTO stack VALUES(7127966290687644883,NULL,6584854550095155175,7127966290687644883,7127966290687644883,1,1,0);
INSERT INTO stack VALUES(8541956748897406615,2751048029325865940,8946207789441190137,8541956748897406615,8541956748897406615,3,3,1);
INSERT INTO stack VALUES(8973344668833372305,NULL,8709414851063322267,8973344668833372305,8973344668833372305,1,4,1);
CREATE TABLE thread(
	id integer primary key,
	process integer not null,
	tid integer not null,
	name text not null
);
INSERT INTO thread VALUES(1,1,4711,'server');
INSERT INTO thread VALUES(2,1,4712,'worker');
CREATE TABLE metric(
	id integer primary key,
	name text not null,
	unit text not null,
	about text not null,
	adds_up integer not null
);
INSERT INTO metric VALUES(1,'alloc_blocks','count','ever allocated',1);
INSERT INTO metric VALUES(2,'alloc_bytes','bytes','ever allocated',1);
INSERT INTO metric VALUES(3,'max_blocks','count','held by each call site at its own peak',0);
INSERT INTO metric VALUES(4,'max_bytes','bytes','held by each call site at its own peak',0);
INSERT INTO metric VALUES(5,'peak_blocks','count','live at the program''s peak',1);
INSERT INTO metric VALUES(6,'peak_bytes','bytes','live at the program''s peak',1);
INSERT INTO metric VALUES(7,'end_blocks','count','live when recording ended',1);
INSERT INTO metric VALUES(8,'end_bytes','bytes','live when recording ended',1);
INSERT INTO metric VALUES(9,'lifetime','nanoseconds','total lifetime of all blocks',1);
INSERT INTO metric VALUES(10,'temporary_blocks','count','freed before the next allocation',1);
CREATE TABLE label(
	id integer primary key,
	labels integer not null,
	name text not null,
	text text not null,
	number integer not null,
	unit text not null
);
CREATE TABLE sample(
	id integer primary key,
	stack integer not null,
	metric integer not null,
	value integer not null,
	labels integer not null,
	thread integer not null,
	start_ns integer not null,
	duration_ns integer not null,
	variance real not null
);
INSERT INTO sample VALUES(1,0,1,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(2,0,2,5,0,0,0,0,0.0);
INSERT INTO sample VALUES(3,0,3,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(4,0,4,5,0,0,0,0,0.0);
INSERT INTO sample VALUES(5,0,5,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(6,0,6,5,0,0,0,0,0.0);
INSERT INTO sample VALUES(7,0,7,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(8,0,8,5,0,0,0,0,0.0);
INSERT INTO sample VALUES(9,0,9,997976,0,0,0,0,0.0);
INSERT INTO sample VALUES(10,2751048029325865940,1,23,0,0,0,0,0.0);
INSERT INTO sample VALUES(11,2751048029325865940,2,23207,0,0,0,0,0.0);
INSERT INTO sample VALUES(12,2751048029325865940,3,23,0,0,0,0,0.0);
INSERT INTO sample VALUES(13,2751048029325865940,4,23207,0,0,0,0,0.0);
INSERT INTO sample VALUES(14,2751048029325865940,5,23,0,0,0,0,0.0);
INSERT INTO sample VALUES(15,2751048029325865940,6,23207,0,0,0,0,0.0);
INSERT INTO sample VALUES(16,2751048029325865940,7,3,0,0,0,0,0.0);
INSERT INTO sample VALUES(17,2751048029325865940,8,3027,0,0,0,0,0.0);
INSERT INTO sample VALUES(18,2751048029325865940,9,3707144,0,0,0,0,0.0);
INSERT INTO sample VALUES(19,8973344668833372305,1,3,0,0,0,0,0.0);
INSERT INTO sample VALUES(20,8973344668833372305,2,224,0,0,0,0,0.0);
INSERT INTO sample VALUES(21,8973344668833372305,3,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(22,8973344668833372305,4,128,0,0,0,0,0.0);
INSERT INTO sample VALUES(23,8973344668833372305,5,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(24,8973344668833372305,6,128,0,0,0,0,0.0);
INSERT INTO sample VALUES(25,8973344668833372305,7,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(26,8973344668833372305,8,32,0,0,0,0,0.0);
INSERT INTO sample VALUES(27,8973344668833372305,9,996952,0,0,0,0,0.0);
INSERT INTO sample VALUES(28,8541956748897406615,1,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(29,8541956748897406615,2,7,0,0,0,0,0.0);
INSERT INTO sample VALUES(30,8541956748897406615,3,1,0,0,0,0,0.0);
INSERT INTO sample VALUES(31,8541956748897406615,4,7,0,0,0,0,0.0);
INSERT INTO sample VALUES(32,8541956748897406615,9,1792,0,0,0,0,0.0);
INSERT INTO sample VALUES(33,8541956748897406615,10,1,0,0,0,0,0.0);
CREATE TABLE marker(
	id integer primary key,
	process integer not null,
	thread integer not null,
	ns integer not null,
	name text not null
);
CREATE TABLE allocation(
	id integer primary key,
	stack integer not null,
	size integer not null,
	alloc_ns integer not null,
	free_ns integer not null,
	alloc_thread integer not null,
	free_thread integer not null,
	address integer not null,
	is_temporary integer not null,
	is_resized_on integer not null,
	first_ns integer,
	first_stack integer,
	labels integer not null,
	weight numeric not null
);
INSERT INTO allocation VALUES(1,8973344668833372305,64,2048,39168,1,1,0,0,1,NULL,NULL,0,1);
INSERT INTO allocation VALUES(2,2751048029325865940,1009,9216,49408,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(3,2751048029325865940,1009,9984,50048,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(4,2751048029325865940,1009,11008,50944,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(5,2751048029325865940,1009,12032,51968,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(6,2751048029325865940,1009,13056,52992,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(7,2751048029325865940,1009,13952,54016,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(8,2751048029325865940,1009,14976,55040,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(9,2751048029325865940,1009,16000,56064,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(10,2751048029325865940,1009,17024,56960,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(11,2751048029325865940,1009,18048,57984,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(12,2751048029325865940,1009,18944,59008,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(13,2751048029325865940,1009,19968,60032,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(14,2751048029325865940,1009,20992,61056,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(15,2751048029325865940,1009,22016,61952,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(16,2751048029325865940,1009,23040,62976,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(17,2751048029325865940,1009,24064,64000,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(18,2751048029325865940,1009,24960,65024,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(19,2751048029325865940,1009,25984,66048,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(20,2751048029325865940,1009,27008,66944,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(21,2751048029325865940,1009,28032,67968,1,2,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(22,8973344668833372305,128,39168,80256,1,1,0,0,1,2048,8973344668833372305,0,1);
INSERT INTO allocation VALUES(23,8541956748897406615,7,89216,91008,2,2,0,1,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(24,0,5,1024,9223372036854775807,1,0,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(25,2751048029325865940,1009,29056,9223372036854775807,1,0,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(26,2751048029325865940,1009,29952,9223372036854775807,1,0,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(27,2751048029325865940,1009,30976,9223372036854775807,1,0,0,0,0,NULL,NULL,0,1);
INSERT INTO allocation VALUES(28,8973344668833372305,32,80256,9223372036854775807,1,0,0,0,0,2048,8973344668833372305,0,1);
CREATE INDEX stack_by_depth on stack(depth, number);
CREATE VIEW allocations(
	alloc_after, dealloc_after, bt, size, addr, alloc_thread, dealloc_thread
) as
select alloc_ns / 1000000.0,
	case when free_ns < 9223372036854775807 then free_ns / 1000000.0 end,
	stack, size, address, alloc_thread, nullif(free_thread, 0)
from allocation;
CREATE VIEW stack_frame(stack, frame_no, frame) as
with recursive inward(frame_no) as (
	select 0 union all
	select frame_no + 1 from inward
	where frame_no + 1 < (select max(depth) from stack)
)
select s.id, i.frame_no, a.frame
from stack s
cross join inward i
cross join stack a
where s.is_sampled = 1
	and i.frame_no < s.depth
	and a.depth = s.depth - i.frame_no
	and a.number = (
		select max(n.number) from stack n
		where n.depth = s.depth - i.frame_no and n.number <= s.number
	);
CREATE VIEW backtraces(id, frame_no, file, line, sym) as
select sf.stack, sf.frame_no, f.file, fr.line, f.name
from stack_frame sf
cross join frame fr
cross join function f
where fr.id = sf.frame
	and f.id = fr.function;
CREATE VIEW site as
with sums as (
	select stack,
		sum(iif(m.name = 'alloc_blocks', value, 0)) as alloc_blocks,
		sum(iif(m.name = 'alloc_bytes', value, 0)) as alloc_bytes,
		sum(iif(m.name = 'peak_blocks', value, 0)) as peak_blocks,
		sum(iif(m.name = 'peak_bytes', value, 0)) as peak_bytes,
		sum(iif(m.name = 'end_blocks', value, 0)) as end_blocks,
		sum(iif(m.name = 'end_bytes', value, 0)) as end_bytes,
		sum(iif(m.name = 'live_blocks', value, 0)) as live_blocks,
		sum(iif(m.name = 'live_bytes', value, 0)) as live_bytes,
		sum(iif(m.name = 'max_blocks', value, 0)) as max_blocks,
		sum(iif(m.name = 'max_bytes', value, 0)) as max_bytes,
		sum(iif(m.name = 'lifetime', value, 0)) as lifetime,
		sum(iif(m.name = 'temporary_blocks', value, 0)) as temporary_blocks
	from sample join metric m on m.id = sample.metric
	group by stack
)
select sums.*, f.name as function, f.file as file, fr.line as line,
	m.path as module, lf.name as leaf
from sums
join stack s on s.id = sums.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
join module m on m.id = fr.module
join stack l on l.id = s.leaf
join frame lfr on lfr.id = l.frame
join function lf on lf.id = lfr.function;
COMMIT;
