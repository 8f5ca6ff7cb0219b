-- what was allocated and what was still live, millisecond by millisecond or in larger steps
with step as (
	select case when max(alloc_ns) < 100000000 then 1000000
		when max(alloc_ns) < 1000000000 then 10000000
		when max(alloc_ns) < 10000000000 then 100000000
		when max(alloc_ns) < 100000000000 then 1000000000
		else 10000000000 end as ns
	from allocation
),
change as (
	select alloc_ns - alloc_ns % step.ns as ns, size * weight as allocated, size * weight as live,
		weight as blocks
	from allocation cross join step
	union all
	select free_ns - free_ns % step.ns as ns, 0 as allocated, 0 - size * weight as live, 0 as blocks
	from allocation cross join step
	where free_ns < 9223372036854775807
),
total as (
	select ns, sum(allocated) as allocated, sum(live) as live, sum(blocks) as blocks
	from change
	group by ns
)
select ns, cast(round(blocks) as bigint) as alloc_blocks, cast(round(allocated) as bigint) as alloc_bytes,
	cast(round(sum(live) over (order by ns)) as bigint) as live_bytes_after
from total
order by ns;
