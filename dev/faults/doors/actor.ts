import { knockAtIngress } from './actors/address.js';
import { knockAtNexus } from './actors/nexus.js';
import { knockAtDesk } from './actors/viewer.js';

/** A process that knows only what its message tells. */
const actors = { address: knockAtIngress, viewer: knockAtDesk, nexus: knockAtNexus };
export type ActorName = keyof typeof actors;
export type Knowledge<Name extends ActorName> = Parameters<(typeof actors)[Name]>[0];

process.once('message', async ({ name, knows }: { name: ActorName; knows: never }) => {
  process.send?.(await actors[name](knows), () => process.disconnect());
});
