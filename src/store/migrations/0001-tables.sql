-- Orders, rides, receipts, and who waits for a person. Texts are as the trail has them.

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
