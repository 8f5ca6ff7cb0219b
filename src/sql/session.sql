-- What 'allo sql' adds to a database for the time of a session: the names of the site and of the leaf
-- of each allocation.  In the file the tables keep their columns, and allocations those of rheaper.
-- SQLite computes a column only if the query uses it.
create temp view allocation as -- the table and two names
select a.*,
	(
		select f.name from main.stack s
		join main.stack c on c.id = s.site
		join main.frame fr on fr.id = c.frame
		join main.function f on f.id = fr.function
		where s.id = a.stack
	) as site,
	(
		select f.name from main.stack s
		join main.stack l on l.id = s.leaf
		join main.frame fr on fr.id = l.frame
		join main.function f on f.id = fr.function
		where s.id = a.stack
	) as leaf
from main.allocation a;

create temp view allocations as
select alloc_ns / 1000000.0 as alloc_after,
	case when free_ns < 9223372036854775807 then free_ns / 1000000.0 end
		as dealloc_after,
	stack as bt, size, address as addr, alloc_thread,
	nullif(free_thread, 0) as dealloc_thread, site, leaf
from temp.allocation;
