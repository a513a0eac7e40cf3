package sandbox

const (
	filterArch     = 0xc000003e // AUDIT_ARCH_X86_64
	sysMemfdCreate = 319
	sysBPF         = 321
	sysSetns       = 308
)
