/** Returns the URL of an asset. build.mjs replaces the call with the hashed file name. */
declare function asset(name: string): string;
