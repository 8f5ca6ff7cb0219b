-- lines that allocate, by all that they ever allocated
select f.name as function, f.file as file, fr.line as line,
	sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes,
	sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks,
	count(distinct v.stack) as stacks
from sample v
join metric m on m.id = v.metric
join stack s on s.id = v.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
group by f.name, f.file, fr.line
order by alloc_bytes desc, alloc_blocks desc, function, file, line
limit 30;
