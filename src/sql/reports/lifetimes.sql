-- how long blocks live
with lived as (
	select size, weight,
		case when free_ns = 9223372036854775807 then 9
			when free_ns - alloc_ns <= 1000 then 1
			when free_ns - alloc_ns <= 10000 then 2
			when free_ns - alloc_ns <= 100000 then 3
			when free_ns - alloc_ns <= 1000000 then 4
			when free_ns - alloc_ns <= 10000000 then 5
			when free_ns - alloc_ns <= 100000000 then 6
			when free_ns - alloc_ns <= 1000000000 then 7
			else 8 end as step
	from allocation
)
select case step when 1 then 'up to 1 us' when 2 then 'up to 10 us' when 3 then 'up to 100 us'
		when 4 then 'up to 1 ms' when 5 then 'up to 10 ms' when 6 then 'up to 100 ms'
		when 7 then 'up to 1 s' when 8 then 'longer' else 'never freed' end as lifetime,
	cast(round(sum(weight)) as bigint) as blocks,
	cast(round(sum(size * weight)) as bigint) as bytes
from lived
group by step
order by step;
