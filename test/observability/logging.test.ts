import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { askedAhead } from '../../src/domain/errors.js';
import { createLogger, toTemporalLogger } from '../../src/observability/logging.js';
import { createNamedKey } from '../../src/sealing/key-ring.js';
import { partnerEnv, sealingEnv } from '../settings/env.js';

function logged(level: 'trace' | 'info' = 'trace') {
  const lines: string[] = [];
  const logger = createLogger({ level, process: 'worker' }, { write: (line) => lines.push(line) });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') };
}

it('a log line is JSON with level, time and process', () => {
  const { logger, last } = logged();
  logger.info({ orderId: '17' }, 'order read');
  expect(last()).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    process: 'worker',
    orderId: '17',
    msg: 'order read',
  });
});

it('a log line below the level is left out', () => {
  const { logger, lines } = logged('info');
  logger.debug('a detail');
  expect(lines).toEqual([]);
});

it.each([
  ...['authorization', 'Authorization', 'clientSecret', 'client_secret', 'accessToken', 'access_token'],
  ...['secret_id', 'secretId', 'apiKey', 'sealed', 'taskToken', 'sealedToken'],
])('a secret in the field %s is blanked, at any depth and in a child', (field) => {
  const { logger, lines } = logged();
  const secret = { [field]: 'hidden-value' };
  logger.info({ ...secret, a: { b: [{ c: secret }] } }, 'sent');
  const child = logger.child({ ...secret, deep: secret });
  child.child(secret).info('sent');
  expect(lines.join('')).not.toContain('hidden-value');
  expect(lines.join('')).toContain('[secret]');
});

it('a logged config shows no secret', () => {
  const { logger, lines } = logged();
  const key = createNamedKey('k', Buffer.alloc(32, 7));
  logger.info({ config: loadConfig({ ...partnerEnv, ...sealingEnv }), key });
  expect(lines.join('')).not.toMatch(/partner-secret|AQEB|AgIC|BwcH|7,7,7|1,1,1/);
  expect(lines.join('')).toContain('partner-id');
});

it('a logged error shows nothing of the request that is attached to it', () => {
  const { logger, last, lines } = logged();
  const cause = Object.assign(new Error('socket closed'), { code: 'ECONNRESET', request: 'hidden-value' });
  const error = Object.assign(new Error('no answer', { cause }), { code: 'UNREACHABLE', headers: 'hidden-value' });
  logger.error(error);
  logger.error({ err: error, error, inner: { error } }, 'call failed');
  expect(lines.join('')).not.toContain('hidden-value');
  const { name, message, code, stack } = error;
  const shown = { name, message, code, stack, cause: { code: 'ECONNRESET', message: 'socket closed' } };
  expect(last()).toMatchObject({ err: shown, error: shown, inner: { error: shown } });
});

it('the logger survives values that JSON cannot hold', () => {
  const { logger, last } = logged();
  const loop: Record<string, unknown> = { big: 10n, at: new Date(0), bytes: Buffer.from('abc'), none: null };
  loop.loop = loop;
  logger.info(loop, 'odd');
  expect(last()).toMatchObject({ at: '1970-01-01T00:00:00.000Z', bytes: '[bytes]', none: null, msg: 'odd' });
});

it('the logger takes the log of the Temporal SDK', () => {
  const { logger, lines, last } = logged();
  const temporal = toTemporalLogger(logger);
  temporal.log('WARN', 'slow', { workflowId: 'order/partner/17', [Symbol('time')]: 1 });
  expect(last()).toMatchObject({ level: 'warn', msg: 'slow', workflowId: 'order/partner/17' });
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) temporal[level](level);
  expect(lines.slice(1).map((line) => JSON.parse(line).level)).toEqual(['trace', 'debug', 'info', 'warn', 'error']);
});

it('the logger leaves out the payloads of a task that the Temporal SDK cannot begin', () => {
  const { logger, last } = logged();
  const meta = { workflowId: 'order/partner/17', task: '{"start":{"input":"c2VjcmV0"}}', taskEncoded: 'c2VjcmV0' };
  toTemporalLogger(logger).error('Error while processing ActivityTask.start', meta);
  toTemporalLogger(logger).log('ERROR', 'Error while processing Nexus task', meta);
  expect(last()).toMatchObject({ workflowId: 'order/partner/17' });
  expect(JSON.stringify(last())).not.toContain('c2VjcmV0');
});

it('the logger takes a query that comes ahead of a task for no error', () => {
  const { logger, last } = logged();
  const temporal = toTemporalLogger(logger);
  temporal.error('Failed to process Workflow Activation', { error: new Error(askedAhead) });
  expect(last()).toMatchObject({ level: 'debug', msg: 'Failed to process Workflow Activation' });
  temporal.error('Failed to process Workflow Activation', { error: new Error('another') });
  expect(last()).toMatchObject({ level: 'error' });
});
