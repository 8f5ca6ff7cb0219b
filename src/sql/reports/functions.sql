-- functions that allocate, by what they held when the program held most
select f.name as function, f.file as file,
	sum(case when m.name = 'peak_bytes' then v.value else 0 end) as peak_bytes,
	sum(case when m.name = 'end_bytes' then v.value else 0 end) as end_bytes,
	sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes,
	sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks
from sample v
join metric m on m.id = v.metric
join stack s on s.id = v.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
group by f.name, f.file
order by peak_bytes desc, alloc_bytes desc, function, file
limit 30;
