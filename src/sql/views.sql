-- Made when all tables but that of allocations, which has no index, are filled.
--
-- The frames outside of a stack, without walking from one to the next: stacks are numbered such that
-- those behind a stack, up to the next of its depth, are inside of it.  So at each depth the last one
-- that is not behind a stack is the one around it.
create index stack_by_depth on stack(depth, number);

-- As rheaper has them: times in milliseconds, and null where there is none.
create view allocations(
	alloc_after, dealloc_after, bt, size, addr, alloc_thread, dealloc_thread
) as
select alloc_ns / 1000000.0,
	case when free_ns < 9223372036854775807 then free_ns / 1000000.0 end,
	stack, size, address, alloc_thread, nullif(free_thread, 0)
from allocation;

-- The frames of each stack with samples or allocations, as rows: 0 is the innermost.
create view stack_frame(stack, frame_no, frame) as
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

create view backtraces(id, frame_no, file, line, sym) as
select sf.stack, sf.frame_no, f.file, fr.line, f.name
from stack_frame sf
cross join frame fr
cross join function f
where fr.id = sf.frame
	and f.id = fr.function;

-- Each stack that allocates, with its sums, the place that is responsible, and the caller of malloc.
create view site as
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
