/** The address of an asset; build.mjs puts the hashed name in its place. */
declare function asset(logical: string): string;
