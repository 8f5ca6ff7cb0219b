-- what each thread allocates, and who frees it
select t.tid as tid, t.name as thread,
	cast(round(sum(a.weight)) as bigint) as blocks,
	cast(round(sum(a.size * a.weight)) as bigint) as bytes,
	cast(round(sum(case when a.free_thread = a.alloc_thread then a.weight else 0 end)) as bigint)
		as freed_by_itself,
	cast(round(sum(case when a.free_thread <> a.alloc_thread and a.free_thread <> 0
		then a.weight else 0 end)) as bigint) as freed_by_others,
	cast(round(sum(case when a.free_ns = 9223372036854775807 then a.weight else 0 end)) as bigint)
		as never_freed
from allocation a
join thread t on t.id = a.alloc_thread
group by t.id, t.tid, t.name
order by bytes desc, tid;
