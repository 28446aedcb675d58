-- A writer that waits for another one gives up when its caller does, who asks again. A connection cannot say so: a pooler takes no such parameter.
alter function faretrail.record_changes(jsonb) set lock_timeout = '3s';
