import type { AccountName } from './keys.js';
import type { NoticeLog } from './notice-log.js';
import type { UrlEntry } from './notify.js';

/** What URLs are still to be told when a run ends: from then on the work of a run of its own, `lateNotices`. */
export interface LateNotices {
  urls: UrlEntry[];
  /** Its readers are those URLs, in the same order. */
  log: NoticeLog;
}

/** What `lateNotices` is started with. Plain JSON. */
export interface LateNoticesInput extends LateNotices {
  account: AccountName;
  /** Workflow id of the run that has ended. */
  about: string;
  /** Its first run: the id of every notice begins with it, whoever sends it. */
  firstRunId: string;
}

/** Result of `lateNotices`: one line for each URL that missed something. */
export interface LateNoticesEnd {
  missed: string[];
}
