-- Each stack that allocates in a run, with its sums there and the place that is responsible.
create or replace view site as
with sums as (
	select v.run as run, v.stack as stack,
		sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks,
		sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes,
		sum(case when m.name = 'peak_blocks' then v.value else 0 end) as peak_blocks,
		sum(case when m.name = 'peak_bytes' then v.value else 0 end) as peak_bytes,
		sum(case when m.name = 'end_blocks' then v.value else 0 end) as end_blocks,
		sum(case when m.name = 'end_bytes' then v.value else 0 end) as end_bytes
	from sample v join metric m on m.id = v.metric and m.run = v.run
	group by v.run, v.stack
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

-- The functions of two runs, the largest growth of all that they allocated first:
-- from regressions('old', 'new');
create or replace macro regressions(before, after) as table
select function, file,
	sum(case when run = after then alloc_bytes else 0 - alloc_bytes end)::bigint as more_bytes,
	sum(case when run = after then alloc_blocks else 0 - alloc_blocks end)::bigint
		as more_blocks,
	sum(case when run = after then peak_bytes else 0 - peak_bytes end)::bigint
		as more_peak_bytes,
	sum(case when run = after then end_bytes else 0 - end_bytes end)::bigint as more_end_bytes
from site
where run in (before, after)
group by function, file
having more_bytes <> 0 or more_blocks <> 0 or more_peak_bytes <> 0 or more_end_bytes <> 0
order by more_bytes desc, more_blocks desc, function, file;
