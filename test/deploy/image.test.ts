import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { dockerfile, inProject } from './deployment-files.js';

const lines = dockerfile();
const all = (wanted: string) => lines.filter(({ instruction }) => instruction === wanted).map(({ rest }) => rest);

it('the image takes from the checkout exactly what the ignore file lets through', () => {
  const ignore = readFileSync(inProject('.dockerignore'), 'utf8');
  const allowed = [...ignore.matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
  const copies = all('COPY').filter((rest) => !rest.startsWith('--from'));
  const taken = copies.flatMap((rest) => rest.split(' ').slice(0, -1));
  expect(taken.filter((path) => !existsSync(inProject(path)))).toEqual([]);
  const isBelow = (path: string, entry: string) => path === entry || path.startsWith(`${entry}/`);
  expect(taken.filter((path) => !allowed.some((entry) => isBelow(path, entry)))).toEqual([]);
  expect(allowed.filter((entry) => !taken.some((path) => isBelow(path, entry)))).toEqual([]);
});

it('the image has a CA file where the native library of a worker looks, with the authorities that Node trusts', () => {
  const copy = all('COPY').find((rest) => rest.includes('/etc/ssl/')) ?? expect.fail('nothing copies it');
  const [, made = ''] = /^\S+=build \/build\/(\S+) \/etc\/ssl\/certs\/ca-certificates\.crt$/.exec(copy) ?? [];
  const step = all('RUN').find((rest) => rest.endsWith(`> ${made}`)) ?? expect.fail('nothing makes it');
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-ca-file-'));
  expect(spawnSync('sh', ['-c', step], { cwd: folder, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  const found = readFileSync(join(folder, made), 'utf8').match(/-----BEGIN [\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  expect(found.length).toBeGreaterThan(100);
  const fingerprint = (one: string) => new X509Certificate(one).fingerprint256;
  expect(found.map(fingerprint)).toEqual(rootCertificates.map(fingerprint));
});

describe('a command of the image', () => {
  const app = mkdtempSync(join(tmpdir(), 'faretrail-image-'));
  for (const folder of ['bin', 'sandbox-bin'])
    cpSync(inProject(`deploy/image/${folder}`), join(app, 'bin'), { recursive: true });

  const entries = {
    desk: 'src/desk',
    faretrail: 'src/starter',
    ingress: 'src/ingress',
    sandbox: 'dev/sandbox/main',
    worker: 'src/worker',
  };
  it('is one of these', () => expect(readdirSync(join(app, 'bin')).sort()).toEqual(Object.keys(entries)));

  it.each(Object.entries(entries))(
    '%s becomes the process of %s, which gets its arguments and its signals',
    (command, entry) => {
      expect(existsSync(inProject(`${entry}.ts`))).toBe(true);
      mkdirSync(join(app, 'dist', entry, '..'), { recursive: true });
      writeFileSync(join(app, `dist/${entry}.js`), 'console.log(process.pid, process.argv.slice(2))');
      const env = { PATH: `${join(app, 'bin')}:${process.env.PATH}` };
      const { stdout, pid } = spawnSync(command, ['a', 'b c'], { env, encoding: 'utf8' });
      expect(stdout).toBe(`${pid} [ 'a', 'b c' ]\n`);
    },
  );
});
