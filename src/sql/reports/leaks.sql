-- what was never freed, by the line that allocated it
select f.name as function, f.file as file, fr.line as line,
	cast(round(sum(a.size * a.weight)) as bigint) as bytes,
	cast(round(sum(a.weight)) as bigint) as blocks,
	min(a.alloc_ns) as first_ns, max(a.alloc_ns) as last_ns
from allocation a
join stack s on s.id = a.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
where a.free_ns = 9223372036854775807
group by f.name, f.file, fr.line
order by bytes desc, blocks desc, function, file, line
limit 30;
