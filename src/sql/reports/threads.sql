-- what each thread allocates, and who frees it
select t.tid as tid, t.name as thread,
	count(*) as blocks,
	sum(a.size) as bytes,
	sum(case when a.free_thread = a.alloc_thread then 1 else 0 end) as freed_by_itself,
	sum(case when a.free_thread <> a.alloc_thread and a.free_thread <> 0 then 1 else 0 end)
		as freed_by_others,
	sum(case when a.free_ns = 9223372036854775807 then 1 else 0 end) as never_freed
from allocation a
join thread t on t.id = a.alloc_thread
group by t.id, t.tid, t.name
order by bytes desc, tid;
