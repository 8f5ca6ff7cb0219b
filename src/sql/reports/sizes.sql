-- how large blocks are
with sized as (
	select size, weight, free_ns,
		case when size = 0 then 0 when size <= 8 then 8 when size <= 16 then 16
			when size <= 32 then 32 when size <= 64 then 64 when size <= 128 then 128
			when size <= 256 then 256 when size <= 512 then 512 when size <= 1024 then 1024
			when size <= 4096 then 4096 when size <= 16384 then 16384
			when size <= 65536 then 65536 when size <= 1048576 then 1048576
			else 9223372036854775807 end as up_to
	from allocation
)
select case when up_to = 9223372036854775807 then 'more' else 'up to ' || cast(up_to as text) end as block_size,
	cast(round(sum(weight)) as bigint) as blocks,
	cast(round(sum(size * weight)) as bigint) as bytes,
	cast(round(sum(case when free_ns = 9223372036854775807 then size * weight else 0 end)) as bigint)
		as bytes_never_freed
from sized
group by up_to
order by up_to;
