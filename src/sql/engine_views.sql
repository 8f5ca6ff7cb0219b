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
