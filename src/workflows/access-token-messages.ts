import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { RenewalWish, TokenLease } from '../domain/token-lease.js';

/** A wish; a caller of an earlier release, whose token was rejected or came to its end, gives `insteadOf` alone. */
export type RenewTokenRequest = Pick<RenewalWish, 'insteadOf'> & Partial<RenewalWish>;

/** Asks for a new token, if `insteadOf` still names the current one; null: "I know of none". */
export const renewTokenSignal = defineSignal<[RenewTokenRequest]>('renewToken');

/** The lease as published in the memo; the token in it is sealed. */
export const tokenStatusQuery = defineQuery<TokenLease>('tokenStatus');
