export function objectionTo(chat: Record<string, unknown>): string | undefined;
