/** Replacement of a native object's methods, which keeps the object as `this` of the others. */
type Call = (...args: unknown[]) => unknown;
type Replace = (call: Call) => Call;

/** Replaces methods. @param methods by name, or one for all */
export function override<Target extends object>(
  target: Target,
  methods: Record<string, Replace> | Replace,
): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      // A stub has a method of every name; without this exception it would look like a promise.
      if (typeof value !== "function" || typeof name === "symbol" || name === "then") {
        return name === "then" ? undefined : value;
      }
      const call: Call = (...args) => Reflect.apply(value, target, args);
      const replace = typeof methods === "function" ? methods : methods[name];
      return replace ? replace(call) : call;
    },
  });
}
