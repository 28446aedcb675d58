import { describe, expect, it } from 'vitest';
import { createAgenda } from '../../src/webhooks/forward-agenda.js';
import type { GroupId } from '../../src/webhooks/journal-keys.js';

const free = () => false;
const group = (n: number) => `g${String(n).padStart(6, '0')}` as GroupId;

/** An agenda over a journal with these groups. */
function anAgenda(count: number) {
  const groups = Array.from({ length: count }, (_, n) => group(n));
  let reads = 0;
  const agenda = createAgenda((after, limit) => {
    reads += 1;
    const from = after === null ? 0 : groups.findIndex((id) => id > after);
    return from < 0 ? [] : groups.slice(from, from + limit);
  });
  return { agenda, groups, reads: () => reads };
}

function takeAll(agenda: ReturnType<typeof createAgenda>, isTaken: (id: GroupId) => boolean = free): GroupId[] {
  const taken: GroupId[] = [];
  for (let id = agenda.next(isTaken); id !== undefined; id = agenda.next(isTaken)) taken.push(id);
  return taken;
}

describe('the agenda', () => {
  it('has nothing to do, and reads nothing, until it is told', () => {
    const { agenda, reads } = anAgenda(10);
    expect([takeAll(agenda), reads()]).toEqual([[], 0]);
  });

  it('walks through the whole journal once', () => {
    const { agenda, groups } = anAgenda(1_000);
    agenda.addAll();
    expect(takeAll(agenda)).toEqual(groups);
    expect(takeAll(agenda)).toEqual([]);
  });

  it('walks once more when that is asked for on the way', () => {
    const { agenda, groups } = anAgenda(100);
    agenda.addAll();
    agenda.next(free);
    agenda.addAll();
    expect(takeAll(agenda)).toEqual([...groups.slice(1), ...groups]);
  });

  it('takes new groups and a long walk in turn', () => {
    const { agenda } = anAgenda(1_000);
    agenda.addAll();
    for (const id of ['new 1', 'new 2'] as GroupId[]) agenda.add(id);
    const first = Array.from({ length: 4 }, () => agenda.next(free));
    expect(first.filter((id) => id?.startsWith('new'))).toHaveLength(2);
    expect(first.filter((id) => id?.startsWith('g'))).toHaveLength(2);
  });

  it('leaves out what is taken', () => {
    const { agenda } = anAgenda(3);
    agenda.addAll();
    expect(takeAll(agenda, (id) => id === group(1))).toEqual([group(0), group(2)]);
  });

  it('finds by a walk what is too much to remember', () => {
    const { agenda, groups, reads } = anAgenda(12_000);
    for (const id of groups) agenda.add(id);
    expect(reads()).toBe(0);
    expect(new Set(takeAll(agenda)).size).toBe(12_000);
  });
});
