-- The tables of a database; doc/sql.md describes them.  Ids of modules, functions, frames and stacks
-- are made of what they stand for and are the same in every database.  Row 0 of these four stands for
-- what is not known, so that joins lose nothing.
create table meta(key text primary key, value text not null) without rowid;
create table process(
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
create table module(id integer primary key, path text not null, build_id text not null);
create table function(
	id integer primary key,
	name text not null,
	system_name text not null,
	file text not null,
	line integer not null,
	is_allocator integer not null
);
create table frame(
	id integer primary key,
	module integer not null,
	address integer not null,
	function integer not null,
	line integer not null,
	col integer not null,
	is_inlined integer not null
);
create table stack(
	id integer primary key,
	parent integer,
	frame integer not null,
	site integer not null,
	leaf integer not null,
	depth integer not null,
	number integer not null,
	is_sampled integer not null
);
create table thread(
	id integer primary key,
	process integer not null,
	tid integer not null,
	name text not null
);
-- A weight of 1 is an integer, so that sums of it are exact.
create table allocation(
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
create table metric(
	id integer primary key,
	name text not null,
	unit text not null,
	about text not null,
	adds_up integer not null
);
create table sample(
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
create table label(
	id integer primary key,
	labels integer not null,
	name text not null,
	text text not null,
	number integer not null,
	unit text not null
);
create table marker(
	id integer primary key,
	process integer not null,
	thread integer not null,
	ns integer not null,
	name text not null
);
insert into module values(0, '', '');
insert into function values(0, '???', '', '', 0, 0);
insert into frame values(0, 0, 0, 0, 0, 0, 0);
insert into stack values(0, null, 0, 0, 0, 0, 0, 0);
