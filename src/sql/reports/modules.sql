-- programs and libraries that allocate
select mo.path as module,
	sum(case when m.name = 'peak_bytes' then v.value else 0 end) as peak_bytes,
	sum(case when m.name = 'end_bytes' then v.value else 0 end) as end_bytes,
	sum(case when m.name = 'alloc_bytes' then v.value else 0 end) as alloc_bytes,
	sum(case when m.name = 'alloc_blocks' then v.value else 0 end) as alloc_blocks
from sample v
join metric m on m.id = v.metric
join stack s on s.id = v.stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join module mo on mo.id = fr.module
group by mo.path
order by peak_bytes desc, alloc_bytes desc, module
limit 30;
