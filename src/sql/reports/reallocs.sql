-- lines that make blocks which grow or shrink later, and how often that happens
select f.name as function, f.file as file, fr.line as line,
	count(*) as resizes, sum(a.size) as resized_bytes
from allocation a
join stack s on s.id = a.first_stack
join stack c on c.id = s.site
join frame fr on fr.id = c.frame
join function f on f.id = fr.function
where a.first_stack is not null
group by f.name, f.file, fr.line
order by resizes desc, function, file, line
limit 30;
