/** Formats the numbers of runners and queues. */
import { duration, longDuration } from "../ui/duration.ts";

/** `2 × NVIDIA L40S, 16 cores, 128 GB` */
export function machineText({
  cpus,
  memory_gb,
  gpus,
}: {
  cpus: number;
  memory_gb: number;
  gpus: { name: string }[];
}): string {
  const kinds = Map.groupBy(gpus, ({ name }) => name);
  return [
    ...[...kinds].map(([name, of]) => (of.length > 1 ? `${of.length} × ${name}` : name)),
    `${cpus} ${cpus === 1 ? "core" : "cores"}`,
    `${gigabytes(memory_gb)} GB`,
  ].join(", ");
}

export const gigabytes = (amount: number): string =>
  amount < 9.95 ? amount.toFixed(1) : String(Math.round(amount));

/** A GB has 1,024 MB, as everywhere that memory is told or limited. */
export const memoryText = (bytes: number): string =>
  bytes < 1_024 ** 3
    ? `${Math.round(bytes / 1_024 ** 2)} MB`
    : `${gigabytes(bytes / 1_024 ** 3)} GB`;

export const percent = (share: number): string => `${Math.round(share * 100)}%`;

export const waitText = (ms: number | null): string => (ms === null ? "–" : duration(ms / 1000));

/** `for 3 min 20 s` */
export const sinceText = (at: string, now: number): string =>
  `for ${longDuration(Math.max(0, Math.floor((now - Date.parse(at)) / 1_000)))}`;

/** Returns a time in whole minutes, so that the page does not change every second. */
export function timeAgo(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return "less than a minute ago";
  if (seconds < 86_400) return `${longDuration(seconds - (seconds % 60)).replace(" 0 s", "")} ago`;
  const days = Math.floor(seconds / 86_400);
  return days === 1 ? "a day ago" : `${days} days ago`;
}

/** Returns a duration in its largest unit: `12 min`. */
export function shortTime(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "< 1 min";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
