import { fileURLToPath } from 'node:url';
import type { DataConverter, LoadedDataConverter } from '@temporalio/common';
import { failureConverter as encodedFailures } from './encoded-failures.js';
import { createPayloadCodec, type PayloadEncryption } from './payload-codec.js';
import { clientPayloadConverter } from './payload-converter.js';
import { failureConverter as plainFailures } from './plain-failures.js';

/** The `dataConverter` of every client of ours. Without keys too: then it says what is missing when something of ours is encrypted. */
export const toDataConverter = (encryption: PayloadEncryption): LoadedDataConverter => ({
  payloadCodecs: [createPayloadCodec(encryption, 'ourProcesses')],
  payloadConverter: clientPayloadConverter,
  failureConverter: encryption.encrypts ? encodedFailures : plainFailures,
});

/** The same for a worker, whose threads load their part by its path, as its bundle of the workflows does. */
export const toWorkerDataConverter = (encryption: PayloadEncryption): DataConverter => ({
  payloadCodecs: [createPayloadCodec(encryption, 'ourProcesses')],
  ...converterPaths({ encodesFailures: encryption.encrypts }),
});

/** A worker that encrypts needs a bundle of its own, since a bundle holds the failure converter. */
export interface BundleKind {
  encodesFailures: boolean;
}

/** Beside this file, be it the source or the compiled one. */
export const converterPaths = ({ encodesFailures }: BundleKind) => ({
  payloadConverterPath: beside('payload-converter'),
  failureConverterPath: beside(encodesFailures ? 'encoded-failures' : 'plain-failures'),
});

function beside(name: string): string {
  const [extension] = /\.[a-z]+$/.exec(import.meta.url) ?? [];
  return fileURLToPath(new URL(`./${name}${extension}`, import.meta.url));
}
