-- Another user of the database may make functions, operators and tables with the names of those that ours call. None of these counts.
alter function faretrail.said_by(faretrail.order_changes) set search_path = pg_catalog, pg_temp;
alter function faretrail.show_attention(faretrail.attention, timestamptz) set search_path = pg_catalog, pg_temp;
alter function faretrail.record_ride(jsonb) set search_path = pg_catalog, pg_temp;
alter function faretrail.record_receipt(jsonb) set search_path = pg_catalog, pg_temp;

-- They may have been made with such a function.
alter table faretrail.rides alter column position set default pg_catalog.nextval('faretrail.positions'::regclass);
alter table faretrail.receipts alter column position set default pg_catalog.nextval('faretrail.positions'::regclass);
alter table faretrail.receipts alter column recorded_at set default pg_catalog.clock_timestamp();
alter table faretrail.attention alter column position set default pg_catalog.nextval('faretrail.positions'::regclass);
alter table faretrail.order_changes alter column recorded_at set default pg_catalog.clock_timestamp();

-- The sequences whose next position would not be after all others: logical replication copies rows, and no sequence.
create function faretrail.positions_behind() returns table (sequence regclass, last_used bigint) language sql stable
  set search_path = pg_catalog, pg_temp as $$
  select * from (values
    (pg_get_serial_sequence('faretrail.order_changes', 'position')::regclass, (select max(position) from faretrail.order_changes)),
    ('faretrail.positions'::regclass, greatest((select max(position) from faretrail.rides),
      (select max(position) from faretrail.receipts), (select max(position) from faretrail.attention)))
  ) as used (sequence, last_used)
  where used.last_used > coalesce(pg_sequence_last_value(used.sequence), 0)
$$;

-- A row that was refused and comes late, after rows that say more, is a row like others, but the order stays as it is.
create or replace function faretrail.record_order_change(entry jsonb) returns void language plpgsql
  set search_path = pg_catalog, pg_temp as $$
declare
  c jsonb := entry->'change';
  made faretrail.order_changes;
  latest faretrail.order_changes;
  shown faretrail.attention;
  versions integer;
  recorded timestamptz;
  is_late boolean;
begin
  made.account := c->>'account';
  made.order_id := c->>'orderId';
  made.run := entry->>'run';
  made.notice := entry->>'notice';
  made.type := entry->>'type';
  made.at := entry->>'at';
  made.status := c->>'status';
  made.raw_status := c->>'rawStatus';
  made.since := c->>'since';
  made.outcome := c->>'outcome';
  made.attention := c->'attention'->>'code';
  made.attention_message := c->'attention'->>'message';
  made.attention_since := c->'attention'->>'since';

  select count(*), max(at) into versions, recorded from faretrail.order_changes where run = made.run and notice = made.notice;
  if recorded >= made.at then return; end if;
  if versions > 0 then
    select * into latest from faretrail.order_changes where run = made.run order by position desc limit 1;
    if faretrail.said_by(made) = faretrail.said_by(latest) then return; end if;
  end if;
  is_late := exists (select from faretrail.order_changes o where o.run = made.run and o.notice > made.notice and o.at > made.at);
  made.id := made.run || '_' || made.notice || case when versions > 0 then '-' || versions + 1 else '' end;
  if is_late then
    update faretrail.orders o set changes = o.changes + 1, reference = coalesce(o.reference, c->>'reference')
      where o.account = made.account and o.order_id = made.order_id returning o.changes into made.change;
  else
    insert into faretrail.orders as o
      values (made.account, made.order_id, c->>'reference', made.status, made.raw_status, made.since, (c->>'terminal')::boolean,
        made.outcome, made.attention, 1, made.at)
    on conflict (account, order_id) do update set
      reference = coalesce(excluded.reference, o.reference), status = excluded.status, raw_status = excluded.raw_status,
      since = excluded.since, terminal = excluded.terminal, outcome = excluded.outcome, attention = excluded.attention,
      changes = o.changes + 1, changed_at = excluded.changed_at
    returning o.changes into made.change;
  end if;
  insert into faretrail.order_changes (account, order_id, change, id, run, notice, type, at, status, raw_status, since, outcome,
      attention, attention_message, attention_since)
    values (made.account, made.order_id, made.change, made.id, made.run, made.notice, made.type, made.at, made.status,
      made.raw_status, made.since, made.outcome, made.attention, made.attention_message, made.attention_since);
  if not is_late then
    shown.kind := 'order';
    shown.account := made.account;
    shown.id := made.order_id;
    shown.code := case when made.outcome is null then made.attention end; -- an order that is followed no longer needs no person
    shown.message := made.attention_message;
    shown.since := made.attention_since;
    perform faretrail.show_attention(shown, made.at);
  end if;
  notify faretrail_order_changes;
end $$;

-- Writers wait for one another, so positions are committed in their order: a reader that remembers the last one misses none. In a database
-- that was moved, rows that readers have seen may be missing, so the next position is far after the greatest one there.
create or replace function faretrail.record_changes(changes jsonb) returns void language plpgsql
  set search_path = pg_catalog, pg_temp set lock_timeout = '3s' as $$
declare entry jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('faretrail.order_changes'));
  perform setval(b.sequence, b.last_used + 1000000) from faretrail.positions_behind() b;
  -- A change that has been recorded must outlive a crash of the server.
  if current_setting('synchronous_commit') = 'off' then set local synchronous_commit = on; end if;
  for entry in select * from jsonb_array_elements(changes) loop
    case entry->>'type'
      when 'ride.changed' then perform faretrail.record_ride(entry);
      when 'ride.receipt' then perform faretrail.record_receipt(entry);
      else perform faretrail.record_order_change(entry);
    end case;
  end loop;
end $$;

-- For "followed now" of the page of dispatchers: the orders that have no outcome, however many have one.
create index orders_open on faretrail.orders (changed_at, account, order_id) where outcome is null;
