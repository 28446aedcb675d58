import type { MigrationBuilder } from 'node-pg-migrate';

/** Rides, receipts, and who waits for a person. Writers hold the lock of 0001, so positions are committed in their order. */
export function up(migration: MigrationBuilder): void {
  migration.sql(`
    create sequence faretrail.positions;

    create table faretrail.rides (
      position bigint not null unique default nextval('faretrail.positions'),
      account text not null,
      request_id text not null,
      order_id text,
      ended boolean not null,
      outcome text,
      failure text,
      attention text,
      changed_at timestamptz not null,
      run text not null,
      notice integer not null,
      primary key (account, request_id)
    );
    create index on faretrail.rides (account, order_id);

    create table faretrail.receipts (
      position bigint primary key default nextval('faretrail.positions'),
      account text not null,
      order_id text not null,
      version integer not null,
      currency text,
      total numeric,
      net numeric,
      tax numeric,
      at timestamptz not null,
      recorded_at timestamptz not null default clock_timestamp(),
      unique (account, order_id, version)
    );

    create table faretrail.attention (
      position bigint not null unique default nextval('faretrail.positions'),
      kind text not null check (kind in ('order', 'ride')),
      account text not null,
      id text not null,
      code text not null,
      message text not null,
      since timestamptz not null,
      cleared_at timestamptz
    );
    create index on faretrail.attention (kind, account, id);
    create unique index on faretrail.attention (kind, account, id) where cleared_at is null;
  `);
  migration.sql(attention);
  migration.sql(recording);
}

const attention = `
  -- Ends the period under way if this shows another code or none, and begins one if there is a code.
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

  -- Nobody waits for an order that is followed no longer.
  create function faretrail.show_attention_of(c faretrail.order_changes) returns void language plpgsql as $$
  declare shown faretrail.attention;
  begin
    shown.kind := 'order';
    shown.account := c.account;
    shown.id := c.order_id;
    shown.code := case when c.outcome is null then c.attention end;
    shown.message := c.attention_message;
    shown.since := c.attention_since;
    perform faretrail.show_attention(shown, c.at);
  end $$;

  create function faretrail.after_order_change() returns trigger language plpgsql as $$
  begin
    perform faretrail.show_attention_of(new);
    return null;
  end $$;
  create trigger attention after insert on faretrail.order_changes for each row execute function faretrail.after_order_change();

  -- What the changes that are there already say.
  do $$
  declare c faretrail.order_changes;
  begin
    for c in select * from faretrail.order_changes where (account, order_id) in
        (select account, order_id from faretrail.order_changes where attention is not null) order by position loop
      perform faretrail.show_attention_of(c);
    end loop;
  end $$;
`;

const recording = `
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

  create function faretrail.record_changes(changes jsonb) returns void language plpgsql as $$
  declare entry jsonb;
  begin
    perform pg_advisory_xact_lock(hashtext('faretrail.order_changes'));
    for entry in select * from jsonb_array_elements(changes) loop
      case entry->>'type'
        when 'ride.changed' then perform faretrail.record_ride(entry);
        when 'ride.receipt' then perform faretrail.record_receipt(entry);
        else perform faretrail.record_order_changes(jsonb_build_array(entry));
      end case;
    end loop;
  end $$;
`;

/** The store is dropped with its schema. */
export const down = false;
