-- For the page of dispatchers: the list, newest change first, and searches by what a person types the beginning of.
create index orders_by_change on faretrail.orders (changed_at, account, order_id);
create index orders_by_status on faretrail.orders (status, changed_at, account, order_id);
create index orders_by_reference on faretrail.orders (lower(reference) text_pattern_ops) where reference is not null;
create index orders_by_id on faretrail.orders (order_id text_pattern_ops);
create index rides_by_request on faretrail.rides (request_id text_pattern_ops);
create index rides_without_order on faretrail.rides (changed_at) where order_id is null;
