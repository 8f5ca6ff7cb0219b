-- lines whose blocks, never freed, keep coming: they began in both halves of the run
select f.name as function, f.file as file, fr.line as line,
	cast(round(sum(case when a.alloc_ns <= t.middle then a.size * a.weight else 0 end)) as bigint)
		as early_bytes,
	cast(round(sum(case when a.alloc_ns > t.middle then a.size * a.weight else 0 end)) as bigint)
		as late_bytes,
	cast(round(sum(a.weight)) as bigint) as blocks
from allocation a
cross join (select max(alloc_ns) - max(alloc_ns) * 0.5 as middle from allocation) t
join stack s on s.id = a.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
where a.free_ns = 9223372036854775807
group by f.name, f.file, fr.line
having sum(case when a.alloc_ns <= t.middle then 1 else 0 end) > 0
	and sum(case when a.alloc_ns > t.middle then 1 else 0 end) > 0
order by late_bytes desc, blocks desc, function, file, line
limit 30;
