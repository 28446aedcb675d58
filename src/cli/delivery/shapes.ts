import { shapeLines } from '../../contracts/body-shape.js';
import { type DeliveryShape, deliveryFields } from '../../contracts/delivery-shape.js';
import { parkReasonTexts } from '../../domain/delivery.js';
import { InvalidInput } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { readDeliveryShapes } from '../../webhooks/shapes/file.js';
import { accountOption } from '../arguments.js';
import { type AddCommand, addCommand, type CommandContext } from '../command.js';
import { exitCodes } from '../failure.js';
import { clip, type Paint, pairsText, plain, tableText, utc } from '../text.js';
import { type Proposal, proposeProfile } from './proposal.js';

const help = `
The ingress keeps names and types of what was delivered, never a value, also of
parked and refused deliveries. The command reads them beside the journal, so run
it where the ingress runs, with its FARETRAIL_JOURNAL_DIR; the ingress may run.
It proposes a contract profile for what the present one does not find. Who knows
an address can send any body, so check a proposal before you use it.`;

/** `delivery shapes`: what deliveries look like, and the profile that fits them. */
export const addShapes: AddCommand = (delivery, run) => {
  const does = 'show what deliveries look like, never a value';
  addCommand(delivery, 'shapes', { does, examples: ['', '--account business'], more: help })
    .option(...accountOption)
    .action(run(show));
};

async function show(context: CommandContext, { account }: { account?: AccountName }): Promise<number> {
  const { journalDir, profile } = context.loadSettings();
  if (journalDir === null)
    throw new InvalidInput(
      'FARETRAIL_JOURNAL_DIR: off, so the ingress has no folder and keeps no shapes; set a folder',
    );
  const kept = await readDeliveryShapes(journalDir);
  const shapes = (kept ?? []).filter((shape) => account === undefined || shape.account === account).sort(byPlace);
  const proposal = proposeProfile(shapes, profile);
  const next = context.commandLine('doctor', '--contract', 'FILE');
  context.tell({ shapes, proposal }, shapesText(shapes, proposal, next, context.paint));
  if (kept === null) context.note('FARETRAIL_JOURNAL_DIR: no ingress has kept a shape in this folder yet');
  return exitCodes.done;
}

const byPlace = (one: DeliveryShape, other: DeliveryShape): number =>
  one.account.localeCompare(other.account) ||
  one.eventType.localeCompare(other.eventType) ||
  other.lastAt.localeCompare(one.lastAt);

function shapesText(shapes: readonly DeliveryShape[], proposal: Proposal, next: string, paint: Paint): string {
  if (shapes.length === 0) return 'No shape of a delivery is kept.';
  const rows = shapes.map((shape, index) => [
    String(index + 1),
    clip(shape.account, 16),
    clip(shape.eventType, 16),
    clip(outcomeOf(shape), 24),
    clip(shape.matched.orderId ?? '-', 24),
    clip(shape.matched.status ?? '-', 24),
    clip(secretText(shape), 32),
    String(shape.count),
    utc(shape.lastAt),
  ]);
  const head = ['', 'account', 'event type', 'outcome', 'order id at', 'status at', 'secret', 'seen', 'last (UTC)'];
  const details = shapes.map((shape, index) => shapeText(shape, index + 1, paint));
  return [tableText(head, rows, paint), ...details, proposalText(proposal, next, paint)].join('\n\n');
}

const outcomeOf = ({ outcome, parkReason }: DeliveryShape): string =>
  parkReason === null ? outcome : `${outcome}: ${parkReason}`;

function secretText({ secret: { place, at, prefix, encoding } }: DeliveryShape): string {
  if (place === 'none') return 'nowhere';
  if (place === 'unknown') return 'not looked for';
  const form = place === 'hmac' ? ` (${[encoding, prefix].filter(Boolean).join(', ')})` : '';
  return `${place} ${at}${form}`;
}

const fieldNames = {
  orderId: 'order id',
  status: 'status',
  eventType: 'event type',
  businessId: 'company id',
} as const;

/** One shape with all that is known of it. Safe for a terminal. */
function shapeText(shape: DeliveryShape, number: number, paint: Paint): string {
  const { account, eventType, parkReason, body, headers, matched, candidates } = shape;
  const matches = deliveryFields.flatMap((field) => {
    const at = matched[field];
    return at === null ? [] : `${fieldNames[field]} at ${plain(at)}`;
  });
  const guesses = deliveryFields.flatMap((field) => {
    const places = candidates[field].map(plain);
    return places.length === 0 ? [] : `${fieldNames[field]} at ${places.join(' or ')}`;
  });
  const why = parkReason === null ? null : (parkReasonTexts as Record<string, string>)[parkReason];
  const pairs = pairsText(
    [
      ['outcome', plain(outcomeOf(shape)) + (why ? `, ${why}` : '')],
      ['seen', `${shape.count}, first ${utc(shape.firstAt)}, last ${utc(shape.lastAt)} UTC`],
      ['found', matches.length > 0 ? matches.join('; ') : 'nothing at the pointers of the profile'],
      ['may be', guesses.length > 0 ? guesses.join('; ') : null],
      ['secret', plain(secretText(shape))],
      ['headers', headers.map(plain).join(', ')],
      ['body', body === null ? 'not read, or no JSON object' : ''],
    ],
    paint,
  );
  const title = paint('strong', `${number}  ${plain(account)} ${plain(eventType)}`);
  const lines = body === null ? [] : shapeLines(body).map((line) => `  ${plain(line)}`);
  return [title, pairs.trimEnd(), ...lines].join('\n');
}

function proposalText({ profile, undecided }: Proposal, next: string, paint: Paint): string {
  const open = undecided.map((text) => `${paint('bad', 'decide:')} ${plain(text)}`);
  if (profile === null)
    return [
      open.length > 0 ? 'No change to the contract profile is proposed.' : 'The contract profile fits.',
      ...open,
    ].join('\n');
  const json = JSON.stringify(profile, null, 2).split('\n').map(plain);
  return [
    paint('strong', 'Proposed changes to the contract profile'),
    ...json,
    ...open,
    `Test them before they are in force: ${next}`,
  ].join('\n');
}
