import { readFileSync } from 'node:fs';

// Preloaded into a worker process by `--import`. Shifts its wall clock by the milliseconds in this file, within 50 ms
// of a change.

const file = process.env.FARETRAIL_TEST_CLOCK_FILE ?? '';
const RealDate = Date;
let aheadMs = 0;
const read = () => {
  aheadMs = Number(readFileSync(file, 'utf8'));
};
read();
setInterval(read, 50).unref();

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + aheadMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + aheadMs;
  }
};
