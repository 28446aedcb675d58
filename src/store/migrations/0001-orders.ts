import type { MigrationBuilder } from 'node-pg-migrate';

/** Orders and their changes. Instants are `timestamptz`; texts are as the trail has them. */
export function up(migration: MigrationBuilder): void {
  migration.sql(`
    create table faretrail.orders (
      account text not null,
      order_id text not null,
      reference text,
      status text,
      raw_status text,
      since timestamptz not null,
      terminal boolean not null,
      outcome text,
      attention text,
      changes integer not null,
      changed_at timestamptz not null,
      primary key (account, order_id)
    );

    create table faretrail.order_changes (
      position bigint generated always as identity primary key,
      account text not null,
      order_id text not null,
      change integer not null,
      id text not null unique,
      run text not null,
      notice integer not null,
      type text not null,
      at timestamptz not null,
      status text,
      raw_status text,
      since timestamptz not null,
      outcome text,
      attention text,
      attention_message text,
      attention_since timestamptz,
      recorded_at timestamptz not null default clock_timestamp(),
      unique (account, order_id, change),
      foreign key (account, order_id) references faretrail.orders on delete cascade
    );
    create index on faretrail.order_changes (run, notice);
  `);
  migration.sql(recording);
}

const recording = `
  -- What a row says, apart from its times.
  create function faretrail.said_by(r faretrail.order_changes) returns text[] language sql immutable as $$
    select array[r.type, r.status, r.raw_status, r.outcome, r.attention]
  $$;

  -- Writers wait for one another, so positions are committed in their order: a reader that remembers the last one misses none.
  -- No row is ever changed. A notice comes again with a later time where an operator has reset the run, which tells what it has read anew:
  -- it is a row only if it says something else than the latest row of the run.
  create function faretrail.record_order_changes(changes jsonb) returns void language plpgsql as $$
  declare
    entry jsonb;
    c jsonb;
    made faretrail.order_changes;
    latest faretrail.order_changes;
    versions integer;
    recorded timestamptz;
  begin
    perform pg_advisory_xact_lock(hashtext('faretrail.order_changes'));
    for entry in select * from jsonb_array_elements(changes) loop
      c := entry->'change';
      made := null;
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
      continue when recorded >= made.at;
      if versions > 0 then
        select * into latest from faretrail.order_changes where run = made.run order by position desc limit 1;
        continue when faretrail.said_by(made) = faretrail.said_by(latest);
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
    end loop;
    notify faretrail_order_changes;
  end $$;
`;

/** The store is dropped with its schema. */
export const down = false;
