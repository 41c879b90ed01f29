static const double focal_values[2] = { 3.471913879239843, 0.026853056040891381 };
static const double offset_values[2] = { 1.3225179300518803, 0.01392615613095171 };
static const double angle_values[2] = { 0.83673469387755106, 0.014508928571428565 };
static const double margin_values[3] = { 0.46666666666666667, 0.3828125, 0.03125 };
static const double padding_values[2] = { 2.0406453300734868, -0.0062569781392070225 };
static const double ce_values[2] = { 3.1320942306935242, -0.021604811880517452 };
static const double emd_values[2] = { 0.039595230276663507, 0.0031374873316918081 };
