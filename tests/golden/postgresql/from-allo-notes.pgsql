-- Tables of Allotrope for PostgreSQL: psql -d DATABASE -f FILE
\set ON_ERROR_STOP on
set client_encoding = 'UTF8';
begin;
create table meta(
	key text not null,
	value text not null
);
create table process(
	id bigint not null,
	pid bigint not null,
	parent_pid bigint not null,
	command text not null,
	program text not null,
	folder text not null,
	host text not null,
	ended text not null,
	clock text not null,
	start_ns bigint not null,
	duration bigint not null,
	peak bigint not null
);
create table module(
	id bigint not null,
	path text not null,
	build_id text not null
);
create table function(
	id bigint not null,
	name text not null,
	system_name text not null,
	file text not null,
	line bigint not null,
	is_allocator integer not null
);
create table frame(
	id bigint not null,
	module bigint not null,
	address bigint not null,
	function bigint not null,
	line bigint not null,
	col bigint not null,
	is_inlined integer not null
);
create table stack(
	id bigint not null,
	frame bigint not null,
	site bigint not null,
	leaf_frame bigint not null,
	depth integer not null
);
create table stack_frame(
	stack bigint not null,
	frame_no integer not null,
	frame bigint not null
);
create table thread(
	id bigint not null,
	process bigint not null,
	tid bigint not null,
	name text not null
);
create table metric(
	id bigint not null,
	name text not null,
	unit text not null,
	about text not null,
	adds_up integer not null
);
create table label(
	id bigint not null,
	labels bigint not null,
	name text not null,
	text text not null,
	number bigint not null,
	unit text not null
);
create table sample(
	id bigint not null,
	stack bigint not null,
	metric bigint not null,
	value bigint not null,
	labels bigint not null,
	thread bigint not null,
	start_ns bigint not null,
	duration_ns bigint not null,
	variance double precision not null
);
create table marker(
	id bigint not null,
	process bigint not null,
	thread bigint not null,
	ns bigint not null,
	name text not null
);
create table allocation(
	id bigint not null,
	stack bigint not null,
	size bigint not null,
	alloc_ns bigint not null,
	free_ns bigint not null,
	alloc_thread integer not null,
	free_thread integer not null,
	address bigint not null,
	is_temporary integer not null,
	is_resized_on integer not null,
	first_ns bigint,
	first_stack bigint,
	labels bigint not null,
	weight double precision not null
);
copy module from stdin with (freeze);
0		
5530247974425067628	/usr/bin/server	deadbeef
\.
copy function from stdin with (freeze);
0	???			0	0
3379459277912801276	0x1015 [server]			0	0
4290591147632628909	0x122f [server]			0	0
4821863465346139507	0x144f [server]			0	0
\.
copy frame from stdin with (freeze);
0	0	0	0	0	0	0
6584854550095155175	5530247974425067628	4117	3379459277912801276	0	0	0
8306902155329343098	5530247974425067628	4655	4290591147632628909	0	0	0
8709414851063322267	5530247974425067628	5199	4821863465346139507	0	0	0
\.
copy stack_frame from stdin with (freeze);
7127966290687644883	0	6584854550095155175
2751048029325865940	0	8306902155329343098
2751048029325865940	1	6584854550095155175
8973344668833372305	0	8709414851063322267
\.
copy stack from stdin with (freeze);
0	0	0	0	0
7127966290687644883	6584854550095155175	7127966290687644883	6584854550095155175	1
2751048029325865940	8306902155329343098	2751048029325865940	8306902155329343098	2
8973344668833372305	8709414851063322267	8973344668833372305	8709414851063322267	1
\.
copy process from stdin with (freeze);
1	4711	4700	server --port 80	/usr/bin/server	/srv	box	exit	ns	1700000000000000000	999000	42000
\.
copy thread from stdin with (freeze);
1	1	4711	server
2	1	4712	worker
\.
copy metric from stdin with (freeze);
1	alloc_blocks	count	ever allocated	1
2	alloc_bytes	bytes	ever allocated	1
3	max_blocks	count	held by each call site at its own peak	0
4	max_bytes	bytes	held by each call site at its own peak	0
5	peak_blocks	count	live at the program's peak	1
6	peak_bytes	bytes	live at the program's peak	1
7	end_blocks	count	live when recording ended	1
8	end_bytes	bytes	live when recording ended	1
9	lifetime	nanoseconds	total lifetime of all blocks	1
10	temporary_blocks	count	freed before the next allocation	1
11	events	count	marked by the program	1
12	units	units	marked by the program	1
\.
copy label from stdin with (freeze);
1	1	request	upload	0	
2	2	request	download	0	
3	3	request	upload	0	
4	3	user	alice	0	
5	4	request	download	0	
6	4	event	cache miss	0	
\.
copy sample from stdin with (freeze);
1	7127966290687644883	1	1	0	0	0	0	0
2	7127966290687644883	2	101	0	0	0	0	0
3	7127966290687644883	3	1	0	0	0	0	0
4	7127966290687644883	4	101	0	0	0	0	0
5	7127966290687644883	5	1	0	0	0	0	0
6	7127966290687644883	6	101	0	0	0	0	0
7	7127966290687644883	7	1	0	0	0	0	0
8	7127966290687644883	8	101	0	0	0	0	0
9	7127966290687644883	9	996952	0	0	0	0	0
10	2751048029325865940	1	8	1	0	0	0	0
11	2751048029325865940	2	7116	1	0	0	0	0
12	2751048029325865940	3	8	1	0	0	0	0
13	2751048029325865940	4	7116	1	0	0	0	0
14	2751048029325865940	5	7	1	0	0	0	0
15	2751048029325865940	6	7063	1	0	0	0	0
16	2751048029325865940	7	5	1	0	0	0	0
17	2751048029325865940	8	5045	1	0	0	0	0
18	2751048029325865940	9	5003320	1	0	0	0	0
19	2751048029325865940	1	3	2	0	0	0	0
20	2751048029325865940	2	6009	2	0	0	0	0
21	2751048029325865940	3	3	2	0	0	0	0
22	2751048029325865940	4	6009	2	0	0	0	0
23	2751048029325865940	5	3	2	0	0	0	0
24	2751048029325865940	6	6009	2	0	0	0	0
25	2751048029325865940	7	3	2	0	0	0	0
26	2751048029325865940	8	6009	2	0	0	0	0
27	2751048029325865940	9	2947464	2	0	0	0	0
28	2751048029325865940	1	5	3	0	0	0	0
29	2751048029325865940	2	1535	3	0	0	0	0
30	2751048029325865940	3	5	3	0	0	0	0
31	2751048029325865940	4	1535	3	0	0	0	0
32	2751048029325865940	5	5	3	0	0	0	0
33	2751048029325865940	6	1535	3	0	0	0	0
34	2751048029325865940	7	5	3	0	0	0	0
35	2751048029325865940	8	1535	3	0	0	0	0
36	2751048029325865940	9	4884920	3	0	0	0	0
37	8973344668833372305	1	1	0	0	0	0	0
38	8973344668833372305	2	61	0	0	0	0	0
39	8973344668833372305	3	1	0	0	0	0	0
40	8973344668833372305	4	61	0	0	0	0	0
41	8973344668833372305	5	1	0	0	0	0	0
42	8973344668833372305	6	61	0	0	0	0	0
43	8973344668833372305	7	1	0	0	0	0	0
44	8973344668833372305	8	61	0	0	0	0	0
45	8973344668833372305	9	967000	0	0	0	0	0
46	8973344668833372305	11	1	0	0	0	0	0
47	8973344668833372305	12	5	0	0	0	0	0
48	2751048029325865940	11	2	4	0	0	0	0
49	2751048029325865940	12	34	4	0	0	0	0
\.
copy meta from stdin with (freeze);
format	allo
allo version	
producer	Allotrope
period	1
period unit	bytes
wrappers	auto
\.
copy marker from stdin with (freeze);
1	1	1	1024	load
2	1	1	39168	serve
3	1	1	58240	serve
\.
copy allocation from stdin with (freeze);
1	2751048029325865940	53	32000	42112	1	1	0	0	1	\N	\N	1	1
2	2751048029325865940	1009	9984	49280	2	2	0	0	0	\N	\N	1	1
3	2751048029325865940	1009	11008	50048	2	2	0	0	0	\N	\N	1	1
4	7127966290687644883	101	2048	9223372036854775807	1	0	0	0	0	\N	\N	0	1
5	2751048029325865940	1009	12032	9223372036854775807	2	0	0	0	0	\N	\N	1	1
6	2751048029325865940	1009	13056	9223372036854775807	2	0	0	0	0	\N	\N	1	1
7	2751048029325865940	1009	13952	9223372036854775807	2	0	0	0	0	\N	\N	1	1
8	2751048029325865940	1009	14976	9223372036854775807	2	0	0	0	0	\N	\N	1	1
9	2751048029325865940	2003	15488	9223372036854775807	1	0	0	0	0	\N	\N	2	1
10	2751048029325865940	1009	16000	9223372036854775807	2	0	0	0	0	\N	\N	1	1
11	2751048029325865940	2003	16512	9223372036854775807	1	0	0	0	0	\N	\N	2	1
12	2751048029325865940	2003	17536	9223372036854775807	1	0	0	0	0	\N	\N	2	1
13	2751048029325865940	307	19968	9223372036854775807	2	0	0	0	0	\N	\N	3	1
14	2751048029325865940	307	20992	9223372036854775807	2	0	0	0	0	\N	\N	3	1
15	2751048029325865940	307	22016	9223372036854775807	2	0	0	0	0	\N	\N	3	1
16	2751048029325865940	307	23040	9223372036854775807	2	0	0	0	0	\N	\N	3	1
17	2751048029325865940	307	24064	9223372036854775807	2	0	0	0	0	\N	\N	3	1
18	8973344668833372305	61	42112	9223372036854775807	1	0	0	0	0	32000	2751048029325865940	0	1
\.

-- As rheaper has them: times in milliseconds, and null where there is none.
create or replace view allocations as
select alloc_ns / 1000000.0 as alloc_after,
	case when free_ns < 9223372036854775807 then free_ns / 1000000.0 end as dealloc_after,
	stack as bt, size, address as addr, alloc_thread,
	case when free_thread <> 0 then free_thread end as dealloc_thread
from allocation;

create or replace view backtraces as
select sf.stack as id, sf.frame_no as frame_no, f.file as file, fr.line as line, f.name as sym
from stack_frame sf
join frame fr on fr.id = sf.frame
join function f on f.id = fr.function;

-- Each stack that allocates, with its sums, the place that is responsible, and the caller of malloc.
create or replace view site as
with sums as (
	select v.stack as stack,
		sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks,
		sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes,
		sum(case when m.name = 'peak_blocks' then v.value else 0 end) as peak_blocks,
		sum(case when m.name = 'peak_bytes' then v.value else 0 end) as peak_bytes,
		sum(case when m.name = 'end_blocks' then v.value else 0 end) as end_blocks,
		sum(case when m.name = 'end_bytes' then v.value else 0 end) as end_bytes,
		sum(case when m.name = 'live_blocks' then v.value else 0 end) as live_blocks,
		sum(case when m.name = 'live_bytes' then v.value else 0 end) as live_bytes,
		sum(case when m.name = 'max_blocks' then v.value else 0 end) as max_blocks,
		sum(case when m.name = 'max_bytes' then v.value else 0 end) as max_bytes,
		sum(case when m.name = 'lifetime' then v.value else 0 end) as lifetime,
		sum(case when m.name = 'temporary_blocks' then v.value else 0 end) as temporary_blocks
	from sample v join metric m on m.id = v.metric
	group by v.stack
)
select sums.*, f.name as function, f.file as file, fr.line as line,
	m.path as module, lf.name as leaf
from sums
join stack s on s.id = sums.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
join module m on m.id = fr.module
join frame lfr on lfr.id = s.leaf_frame
join function lf on lf.id = lfr.function;
commit;
analyze meta;
analyze process;
analyze module;
analyze function;
analyze frame;
analyze stack;
analyze stack_frame;
analyze thread;
analyze metric;
analyze label;
analyze sample;
analyze marker;
analyze allocation;
