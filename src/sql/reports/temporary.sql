-- functions whose blocks their own thread frees before it allocates again
select f.name as function, f.file as file,
	sum(case when m.name = 'temporary_blocks' then v.value else 0 end) as temporary_blocks,
	sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks,
	sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes
from sample v
join metric m on m.id = v.metric
join stack s on s.id = v.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
group by f.name, f.file
having sum(case when m.name = 'temporary_blocks' then v.value else 0 end) > 0
order by temporary_blocks desc, function, file
limit 30;
