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

    -- Writers wait for one another, so positions are committed in their order: a reader that remembers the last one misses none.
    create function faretrail.record_order_changes(changes jsonb) returns void language plpgsql as $$
    declare
      entry jsonb;
      c jsonb;
      number integer;
    begin
      perform pg_advisory_xact_lock(hashtext('faretrail.order_changes'));
      for entry in select * from jsonb_array_elements(changes) loop
        continue when exists (select from faretrail.order_changes where id = entry->>'id');
        c := entry->'change';
        insert into faretrail.orders as o
          values (c->>'account', c->>'orderId', c->>'reference', c->>'status', c->>'rawStatus', (c->>'since')::timestamptz,
            (c->>'terminal')::boolean, c->>'outcome', c->'attention'->>'code', 1, (entry->>'at')::timestamptz)
        on conflict (account, order_id) do update set
          reference = coalesce(excluded.reference, o.reference), status = excluded.status, raw_status = excluded.raw_status,
          since = excluded.since, terminal = excluded.terminal, outcome = excluded.outcome, attention = excluded.attention,
          changes = o.changes + 1, changed_at = excluded.changed_at
        returning o.changes into number;
        insert into faretrail.order_changes (account, order_id, change, id, type, at, status, raw_status, since, outcome,
            attention, attention_message, attention_since)
          values (c->>'account', c->>'orderId', number, entry->>'id', entry->>'type', (entry->>'at')::timestamptz, c->>'status',
            c->>'rawStatus', (c->>'since')::timestamptz, c->>'outcome', c->'attention'->>'code', c->'attention'->>'message',
            (c->'attention'->>'since')::timestamptz);
      end loop;
      notify faretrail_order_changes;
    end $$;
  `);
}

/** The store is dropped with its schema. */
export const down = false;
