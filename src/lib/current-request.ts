/**
 * The request that is being answered. workerd runs no `finally` and no `catch` of a request whose client has
 * disconnected: what must happen all the same is registered here.
 */
/// <reference types="node/async_hooks" />
import { AsyncLocalStorage } from "node:async_hooks";
import { onAbort } from "./timeout.ts";

export interface CurrentRequest {
  signal: AbortSignal;
  /** Keeps the isolate at work until it has settled. */
  waitUntil: (promise: Promise<unknown>) => void;
  ip?: string | null;
  userAgent?: string | null;
  /** Set by the middleware of every request. */
  requestId?: string;
  /** Set where the deployment has traces. */
  traced?: { route: string; traceparent: string | undefined };
  /** The sender, once authenticated: the audit log names it. */
  sender?: Sender;
}

export interface Sender {
  type: "user" | "service_token" | "operator" | "operator_token";
  id: string;
  /** Empty: the name of the user with this id. */
  name: string;
  token_id?: string;
  session_id?: string;
}

/** A resource of the isolate that a request holds: memory, or a place among a limited number. */
export interface Holding {
  /** Without a call it lapses after `LAPSE_MS`, and whoever needs room next ends it. */
  renew(): void;
  leave(): void;
}

const RENEW_MS = 5_000;
export const LAPSE_MS = 3 * RENEW_MS;

const current = new AsyncLocalStorage<CurrentRequest>();

export const duringRequest = <T>(request: CurrentRequest, answer: () => T): T =>
  current.run(request, answer);

/** Returns the request; undefined in sweeps, queues and objects. */
export const currentRequest = (): CurrentRequest | undefined => current.getStore();

/** Adds what is known of the current request by now. */
export function describeRequest(
  facts: Pick<CurrentRequest, "requestId" | "sender" | "traced">,
): void {
  const request = current.getStore();
  if (request) Object.assign(request, facts);
}

/** @throws the reason of the abort: what a request takes after it would never be given back */
export const requireClient = (): void => current.getStore()?.signal.throwIfAborted();

/** Calls a function if the client disconnects before the response is complete. */
export function whenClientLeaves(act: () => Promise<unknown>): void {
  const request = current.getStore();
  if (request) onAbort(request.signal, () => request.waitUntil(act()));
}

/**
 * Ends the holding when the client disconnects, and renews it until then: timers end with their request, however
 * that ends. In a Durable Object they do not, and nobody disconnects: there, something must end it.
 * @returns ends it; calling it again has no effect
 */
export function holdForRequest(holding: Holding): () => void {
  let isOver = false;
  let forget = () => {};
  const leave = () => {
    if (isOver) return;
    isOver = true;
    clearInterval(timer);
    forget();
    holding.leave();
  };
  const timer = setInterval(() => holding.renew(), RENEW_MS);
  holding.renew();
  const request = current.getStore();
  if (request) forget = onAbort(request.signal, leave);
  return leave;
}
