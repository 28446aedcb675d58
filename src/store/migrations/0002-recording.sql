-- A batch of changes becomes rows by one call: a store far away costs one round trip, and what to write is decided under one lock.

-- What a row says, apart from its times.
create function faretrail.said_by(r faretrail.order_changes) returns text[] language sql immutable as $$
  select array[r.type, r.status, r.raw_status, r.outcome, r.attention]
$$;

-- Ends the period under way if `shown` has another code or none, and begins one if it has a code.
create function faretrail.show_attention(shown faretrail.attention, at timestamptz) returns void language plpgsql as $$
begin
  update faretrail.attention a set cleared_at = greatest(at, a.since), position = nextval('faretrail.positions')
    where a.kind = shown.kind and a.account = shown.account and a.id = shown.id and a.cleared_at is null
      and a.code is distinct from shown.code;
  if found then notify faretrail_attention; end if;
  if shown.code is null then return; end if;
  insert into faretrail.attention (kind, account, id, code, message, since)
    values (shown.kind, shown.account, shown.id, shown.code, shown.message, shown.since)
    on conflict (kind, account, id) where cleared_at is null do nothing;
  if found then notify faretrail_attention; end if;
end $$;

-- No row is ever changed. A notice comes again with a later time where an operator has reset the run, which tells what it has read anew:
-- it is a row only if it says something else than the latest row of the run.
create function faretrail.record_order_change(entry jsonb) returns void language plpgsql as $$
declare
  c jsonb := entry->'change';
  made faretrail.order_changes;
  latest faretrail.order_changes;
  shown faretrail.attention;
  versions integer;
  recorded timestamptz;
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
  made.id := made.run || '_' || made.notice || case when versions > 0 then '-' || versions + 1 else '' end;
  insert into faretrail.orders as o
    values (made.account, made.order_id, c->>'reference', made.status, made.raw_status, made.since, (c->>'terminal')::boolean,
      made.outcome, made.attention, 1, made.at)
  on conflict (account, order_id) do update set
    reference = coalesce(excluded.reference, o.reference), status = excluded.status, raw_status = excluded.raw_status,
    since = excluded.since, terminal = excluded.terminal, outcome = excluded.outcome, attention = excluded.attention,
    changes = o.changes + 1, changed_at = excluded.changed_at
  returning o.changes into made.change;
  insert into faretrail.order_changes (account, order_id, change, id, run, notice, type, at, status, raw_status, since, outcome,
      attention, attention_message, attention_since)
    values (made.account, made.order_id, made.change, made.id, made.run, made.notice, made.type, made.at, made.status,
      made.raw_status, made.since, made.outcome, made.attention, made.attention_message, made.attention_since);
  shown.kind := 'order';
  shown.account := made.account;
  shown.id := made.order_id;
  shown.code := case when made.outcome is null then made.attention end; -- an order that is followed no longer needs no person
  shown.message := made.attention_message;
  shown.since := made.attention_since;
  perform faretrail.show_attention(shown, made.at);
  notify faretrail_order_changes;
end $$;

-- The row shows the ride after its latest change. What is recorded again, or late, comes with the same or an earlier time; a task that was
-- lost and is done again may bring the same with a later time.
create function faretrail.record_ride(entry jsonb) returns void language plpgsql as $$
declare
  c jsonb := entry->'change';
  made faretrail.rides;
  former faretrail.rides;
  shown faretrail.attention;
begin
  made.account := c->>'account';
  made.request_id := c->>'requestId';
  made.order_id := c->>'orderId';
  made.ended := c->>'stage' = 'ended';
  made.outcome := c->>'outcome';
  made.failure := c->'failure'->>'type';
  made.attention := c->'attention'->>'code';
  made.changed_at := entry->>'at';
  made.run := entry->>'run';
  made.notice := entry->>'notice';

  select * into former from faretrail.rides r where r.account = made.account and r.request_id = made.request_id;
  if found then
    if (made.changed_at, made.notice) <= (former.changed_at, former.notice) then return; end if;
    if (made.run, made.order_id, made.ended, made.outcome, made.failure, made.attention) is not distinct from
      (former.run, former.order_id, former.ended, former.outcome, former.failure, former.attention) then return; end if;
  end if;
  insert into faretrail.rides (account, request_id, order_id, ended, outcome, failure, attention, changed_at, run, notice)
    values (made.account, made.request_id, made.order_id, made.ended, made.outcome, made.failure, made.attention, made.changed_at,
      made.run, made.notice)
  on conflict (account, request_id) do update set
    position = nextval('faretrail.positions'), order_id = excluded.order_id, ended = excluded.ended, outcome = excluded.outcome,
    failure = excluded.failure, attention = excluded.attention, changed_at = excluded.changed_at, run = excluded.run,
    notice = excluded.notice;
  shown.kind := 'ride';
  shown.account := made.account;
  shown.id := made.request_id;
  shown.code := made.attention;
  shown.message := c->'attention'->>'message';
  shown.since := c->'attention'->>'since';
  perform faretrail.show_attention(shown, made.changed_at);
  notify faretrail_rides;
end $$;

-- A row for each receipt with other amounts than the one before. None is ever changed.
create function faretrail.record_receipt(entry jsonb) returns void language plpgsql as $$
declare
  c jsonb := entry->'change';
  made faretrail.receipts;
  former faretrail.receipts;
begin
  made.account := c->>'account';
  made.order_id := c->>'orderId';
  made.currency := c->>'currency';
  made.total := c->>'total';
  made.net := c->>'net';
  made.tax := c->>'tax';
  made.at := entry->>'at';

  select * into former from faretrail.receipts r where r.account = made.account and r.order_id = made.order_id
    order by r.version desc limit 1;
  if found and (made.at <= former.at or (made.currency, made.total, made.net, made.tax) is not distinct from
    (former.currency, former.total, former.net, former.tax)) then return; end if;
  insert into faretrail.receipts (account, order_id, version, currency, total, net, tax, at)
    values (made.account, made.order_id, coalesce(former.version, 0) + 1, made.currency, made.total, made.net, made.tax, made.at);
  notify faretrail_receipts;
end $$;

-- Writers wait for one another, so positions are committed in their order: a reader that remembers the last one misses none.
create function faretrail.record_changes(changes jsonb) returns void language plpgsql as $$
declare entry jsonb;
begin
  perform pg_advisory_xact_lock(hashtext('faretrail.order_changes'));
  for entry in select * from jsonb_array_elements(changes) loop
    case entry->>'type'
      when 'ride.changed' then perform faretrail.record_ride(entry);
      when 'ride.receipt' then perform faretrail.record_receipt(entry);
      else perform faretrail.record_order_change(entry);
    end case;
  end loop;
end $$;
