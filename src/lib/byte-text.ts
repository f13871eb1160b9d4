/** Numbers of bytes for people: `1.2 GB`. */
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

export function byteText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** power;
  const shown = power === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1));
  return `${shown.toLocaleString("en")} ${UNITS[power]}`;
}
