-- The price of a ride's last estimate, and the code of its currency.
alter table faretrail.rides add column price numeric, add column currency text;

create or replace function faretrail.record_ride(entry jsonb) returns void language plpgsql as $$
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
  made.price := c->>'price';
  made.currency := c->>'currency';
  made.changed_at := entry->>'at';
  made.run := entry->>'run';
  made.notice := entry->>'notice';

  select * into former from faretrail.rides r where r.account = made.account and r.request_id = made.request_id;
  if found then
    if (made.changed_at, made.notice) <= (former.changed_at, former.notice) then return; end if;
    if (made.run, made.order_id, made.ended, made.outcome, made.failure, made.attention, made.price, made.currency) is not distinct from
      (former.run, former.order_id, former.ended, former.outcome, former.failure, former.attention, former.price, former.currency)
      then return; end if;
  end if;
  insert into faretrail.rides (account, request_id, order_id, ended, outcome, failure, attention, price, currency, changed_at, run, notice)
    values (made.account, made.request_id, made.order_id, made.ended, made.outcome, made.failure, made.attention, made.price,
      made.currency, made.changed_at, made.run, made.notice)
  on conflict (account, request_id) do update set
    position = nextval('faretrail.positions'), order_id = excluded.order_id, ended = excluded.ended, outcome = excluded.outcome,
    failure = excluded.failure, attention = excluded.attention, price = excluded.price, currency = excluded.currency,
    changed_at = excluded.changed_at, run = excluded.run, notice = excluded.notice;
  shown.kind := 'ride';
  shown.account := made.account;
  shown.id := made.request_id;
  shown.code := made.attention;
  shown.message := c->'attention'->>'message';
  shown.since := c->'attention'->>'since';
  perform faretrail.show_attention(shown, made.changed_at);
  notify faretrail_rides;
end $$;
