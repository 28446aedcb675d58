import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { TokenLease } from '../domain/token-lease.js';

/** Asks for a new token, if `insteadOf` still names the current one; null: "I know of none". */
export const renewTokenSignal = defineSignal<[{ insteadOf: string | null }]>('renewToken');

/** The lease as published in the memo; the token in it is sealed. */
export const tokenStatusQuery = defineQuery<TokenLease>('tokenStatus');
