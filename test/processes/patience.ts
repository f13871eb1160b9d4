/**
 * For real processes on a machine that is busy: what is waited for comes later than within the second
 * that vitest has by default, and only what does not come at all is to be noticed.
 */
import { vi } from "vitest";

const PATIENCE_MS = 30_000;

const { waitFor } = vi;

vi.waitFor = (callback, options = PATIENCE_MS) => waitFor(callback, options);
