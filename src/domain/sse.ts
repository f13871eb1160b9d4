/** Server-sent events as text. Only LF, one `data:` line: JSON holds no raw line break. */
export const HEARTBEAT = ": keep-alive\n\n";

export const encodeEvent = (id: number, event: string, data: unknown) =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
